import { create, toBinary } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/base/ids';
import { createKafkaBus } from '@rms/bus';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { ResourceEventSchema } from '@rms/proto/rms/events/v1/resource_event_pb';
import { createLogger } from '@rms/runtime/logging';

const partitions = 6;

/** Publishes events like the relay of resources: each batch to a single partition. */
export async function openPublisher({ KAFKA_BROKERS, KAFKA_PREFIX }) {
  const log = createLogger({ name: 'bench', level: 'silent' });
  const bus = createKafkaBus({ brokers: KAFKA_BROKERS.split(','), clientId: 'bench', log });
  await bus.start([]);
  const topic = `${KAFKA_PREFIX}.resource-events.v1`;
  return {
    publish: (partition, events) =>
      bus.publish({ topic, partition, records: events.map(toRecord) }, AbortSignal.timeout(30_000)),
    /** Publishes many events in parallel, like six relay workers with batches of 100. */
    async publishAll(events) {
      const lanes = Array.from({ length: partitions }, (_, lane) => events.filter((_, i) => i % partitions === lane));
      await Promise.all(
        lanes.map(async (lane, partition) => {
          for (let i = 0; i < lane.length; i += 100) await this.publish(partition, lane.slice(i, i + 100));
        }),
      );
    },
    close: () => bus.stop(),
  };
}

/** Creates an event of about 380 bytes. */
export function newEvent(workspaceId, type = 'resource.created') {
  const id = newId('evt');
  const resourceId = newId('res');
  const now = new Date();
  const object = {
    id: resourceId,
    type: 'resource',
    status: 'active',
    name: 'Resource',
    metadata: { note: 'n'.repeat(90) },
    created_at: now.toISOString(),
    updated_at: now.toISOString(),
  };
  return create(ResourceEventSchema, {
    id,
    type,
    workspaceId,
    environment: Environment.LIVE,
    resourceId,
    sequence: 1n,
    createTime: timestampFromDate(now),
    requestId: newId('req'),
    body: Buffer.from(JSON.stringify({ id, type, created_at: now.toISOString(), data: { object } })),
  });
}

function toRecord(event) {
  return {
    key: event.resourceId,
    value: toBinary(ResourceEventSchema, event),
    headers: { 'event-id': event.id, 'x-request-id': event.requestId },
  };
}
