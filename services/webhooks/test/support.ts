import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { migrations as audit } from '@rms/audit';
import { type BusRecord, type ConsumedRecord, createInProcessBus, type EventBus } from '@rms/bus';
import { createPool } from '@rms/db';
import { newId } from '@rms/ids';
import { Health } from '@rms/proto/grpc/health/v1/health_pb';
import {
  type ReportUsageRequest,
  ReportUsageRequestSchema,
  ReportUsageResponseSchema,
} from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { ResourceEventSchema } from '@rms/proto/rms/events/v1/resource_event_pb';
import { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { SecretsService } from '@rms/proto/rms/webhooks/v1/secrets_service_pb';
import { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { createClient, loopbackOnly } from '@rms/rpc';
import { createLogger, createMetrics, type Logger } from '@rms/service';
import { type TestDatabase, testDatabase, waitUntil } from '@rms/testkit';
import { createWebhooks, type WebhooksConfig } from '../src/index.ts';
import { migrations } from '../src/migrations.ts';

const silent = createLogger({ name: 'test', level: 'silent' });
const topic = 'rms.resource-events.v1';
const underWay = [DeliveryStatus.PENDING, DeliveryStatus.RETRYING];

export type Webhooks = Awaited<ReturnType<typeof startWebhooks>>;

/** A database for instances that share it. */
export const webhooksDatabase = () => testDatabase([audit, migrations]);

/**
 * The real service on a real database and the in-process bus; webhooks may call loopback. On a database of its own, which
 * goes with it, unless it is given one.
 */
export async function startWebhooks(
  overrides: Partial<WebhooksConfig> = {},
  { given, log = silent }: { given?: TestDatabase; log?: Logger } = {},
) {
  const database = given ?? (await webhooksDatabase());
  const connection = { url: database.url, max: 8, applicationName: 'webhooks', log };
  const pool = createPool(connection);
  const keyedPool = createPool({ ...connection, max: 3, plans: 'kept' });
  const bus: EventBus = createInProcessBus({ log });
  const config: WebhooksConfig = {
    host: '127.0.0.1',
    port: 0,
    metricsAddress: undefined,
    secretKeys: [Buffer.alloc(32, 1)],
    pageTokenKeys: [Buffer.alloc(32, 2)],
    topic,
    deadLetterTopic: 'rms.dead-letters.v1',
    noticeTopic: 'rms.notices.v1',
    group: 'rms-webhooks',
    partitions: 3,
    replication: 1,
    egress: { allowHttp: true, allowCidrs: ['127.0.0.0/8'] },
    eraseOnDelete: false,
    retentionDays: 30,
    disableAfterHours: 120,
    releaseLeases: false,
    ...overrides,
  };
  const metrics = createMetrics('webhooks');
  const reported: ReportUsageRequest[] = [];
  const usage = {
    reportUsage: async (report: MessageInitShape<typeof ReportUsageRequestSchema>) => {
      reported.push(create(ReportUsageRequestSchema, report));
      return create(ReportUsageResponseSchema);
    },
    close() {},
  };
  const service = createWebhooks(config, { pool, keyedPool, bus, usage, log, metrics, security: loopbackOnly });
  await service.start();
  const target = { target: service.address, timeoutMs: 15_000 };
  const webhooks = createClient(WebhooksService, target);
  const deliveries = createClient(DeliveriesService, target);
  const feed = createClient(EventsService, target);
  const secrets = createClient(SecretsService, target);
  const health = createClient(Health, target);

  /** Publishes events as the relay does; resolves when they are stored. */
  const publish = (...events: ReturnType<typeof newEvent>[]) => publishRecords(...events.map(toRecord));
  const publishRecords = (...records: BusRecord[]) =>
    bus.publish({ topic, partition: 0, records }, AbortSignal.timeout(10_000));
  /** Consumes dead letters until it is stopped. */
  const takeDeadLetters = () => {
    const abort = new AbortController();
    const letters: ConsumedRecord[] = [];
    const onBatch = async (records: readonly ConsumedRecord[]) => void letters.push(...records);
    const ended = bus.consume({ topic: config.deadLetterTopic, group: 'operator', onBatch }, abort.signal);
    const stop = async () => {
      abort.abort();
      await ended;
    };
    return { letters, stop };
  };
  const list = (tenant: Tenant, filter: object = {}) =>
    deliveries.listDeliveries({ ...tenant, pageSize: 1_000, ...filter }).then((page) => page.deliveries);
  /** Waits until so many deliveries of a tenant are there and have all ended, and returns the log. */
  const settled = (tenant: Tenant, count: number) =>
    waitUntil(
      async () => {
        const all = await list(tenant);
        const done = all.length >= count && all.every(({ status }) => !underWay.includes(status));
        return done ? all : undefined;
      },
      { what: `${count} settled deliveries` },
    );

  return {
    database,
    /** Counts of attempts, as they were reported. */
    reported,
    bus,
    metrics,
    webhooks,
    deliveries,
    feed,
    secrets,
    health,
    publish,
    publishRecords,
    takeDeadLetters,
    list,
    settled,
    async stop() {
      webhooks.close();
      deliveries.close();
      feed.close();
      secrets.close();
      health.close();
      await service.stop();
      if (!given) await database.drop();
    },
  };
}

export interface Tenant {
  readonly workspaceId: string;
  readonly environment: Environment;
}

export function newTenant(environment = Environment.LIVE): Tenant {
  return { workspaceId: newId('ws'), environment };
}

/** As the relay makes it. */
export function toRecord(event: ReturnType<typeof newEvent>): BusRecord {
  return { key: event.resourceId, value: toBinary(ResourceEventSchema, event), headers: { 'event-id': event.id } };
}

/** An event of a tenant, as resources makes them. */
export function newEvent(tenant: Tenant, type = 'resource.created', name = 'thing', resourceId = newId('res')) {
  const id = newId('evt');
  const now = new Date();
  const object = { id: resourceId, type: 'resource', status: 'active', name };
  const body = Buffer.from(JSON.stringify({ id, type, created_at: now.toISOString(), data: { object } }));
  return create(ResourceEventSchema, {
    id,
    type,
    ...tenant,
    resourceId,
    sequence: 1n,
    createTime: timestampFromDate(now),
    requestId: newId('req'),
    body,
  });
}
