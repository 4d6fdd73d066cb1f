import { fromBinary } from '@bufbuild/protobuf';
import type { ConsumedRecord, EventBus } from '@rms/bus';
import { inTransaction, type Pool } from '@rms/db';
import { idTime, isId } from '@rms/ids';
import { type ResourceEvent, ResourceEventSchema } from '@rms/proto/rms/events/v1/resource_event_pb';
import { coalesce } from '@rms/rpc';
import type { Logger, Worker } from '@rms/service';
import type { DeliveryEngine } from '../delivery/engine.ts';
import type { FeedWatchers } from '../feed/feed-watchers.ts';
import { hasPartition } from '../log/partition-queries.ts';
import { fanOut } from './fan-out-queries.ts';

export interface FanOutParts {
  readonly pool: Pool;
  readonly bus: EventBus;
  readonly topic: string;
  readonly group: string;
  readonly engine: Pick<DeliveryEngine, 'room' | 'deliver' | 'wake'>;
  readonly watchers: Pick<FeedWatchers, 'wake'>;
  readonly log: Logger;
}

/** Events of one statement. */
const eventsAtOnce = 500;

/**
 * Turns events of the bus into deliveries. Batches of different partitions that come at the same time share a statement;
 * the position on the bus moves on after its commit.
 */
export function createFanOut({ pool, bus, topic, group, engine, watchers, log }: FanOutParts): Worker {
  const storeTogether = coalesce(
    async (batches: ResourceEvent[][]) => {
      const events = unique(batches.flat());
      for (let i = 0; i < events.length; i += eventsAtOnce) {
        const room = engine.room();
        const some = events.slice(i, i + eventsAtOnce);
        const jobs = await inTransaction(pool, (tx) => fanOut(tx, some, room));
        engine.deliver(jobs);
        watchers.wake(some);
        // There may be more of them than there was room for.
        if (jobs.length >= room) engine.wake();
      }
      return batches.map(() => undefined);
    },
    { maxInFlight: 1, maxBatch: 32 },
  );
  return {
    name: 'fan-out',
    run: (signal) =>
      bus.consume(
        {
          topic,
          group,
          onBatch: async (records) => {
            const events = records.flatMap((record) => decode(record, log) ?? []);
            if (events.length > 0) await storeTogether(events);
          },
        },
        signal,
      ),
  };
}

/** Undefined, and a line in the log, if the record is none of ours: it must not stop those behind it. */
function decode(record: ConsumedRecord, log: Logger): ResourceEvent | undefined {
  try {
    const event = fromBinary(ResourceEventSchema, record.value);
    if (!isId('evt', event.id) || event.workspaceId === '' || event.body.length === 0) {
      throw new Error('it names no event');
    }
    // It could not be stored, now or later.
    if (!hasPartition(idTime(event.id), Date.now())) throw new Error('it is too old, or of the future');
    return event;
  } catch (err) {
    const { partition, offset, headers } = record;
    log.error(
      { err, partition, offset, request_id: headers['x-request-id'] },
      'a record cannot be read; it is skipped',
    );
    return undefined;
  }
}

/** A statement can't meet the same event twice. */
function unique(events: readonly ResourceEvent[]): ResourceEvent[] {
  return [...new Map(events.map((event) => [event.id, event])).values()];
}
