import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { durationFromMs, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/base/ids';
import { type BusRecord, createInProcessBus, type EventBus } from '@rms/bus';
import { migrations as audit } from '@rms/postgres/audit';
import { Health } from '@rms/proto/grpc/health/v1/health_pb';
import {
  type ReportUsageRequest,
  ReportUsageRequestSchema,
  ReportUsageResponseSchema,
} from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { ResourceEventSchema } from '@rms/proto/rms/events/v1/resource_event_pb';
import { DeadLettersService } from '@rms/proto/rms/webhooks/v1/dead_letters_service_pb';
import { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { SecretsService } from '@rms/proto/rms/webhooks/v1/secrets_service_pb';
import { type CreateWebhookRequestSchema, WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { createClient, loopbackOnly } from '@rms/rpc';
import { createLogger, type Logger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import { type TestDatabase, testDatabase, testPool, waitUntil } from '@rms/testkit';
import { createWebhooks, type WebhooksConfig, type WebhooksContext } from '../src/index.ts';
import { migrations } from '../src/migrations.ts';

const silent = createLogger({ name: 'test', level: 'silent' });
const topic = 'rms.resource-events.v1';
const unfinishedStatuses = [DeliveryStatus.PENDING, DeliveryStatus.RETRYING];

export type Webhooks = Awaited<ReturnType<typeof startWebhooks>>;

/** Creates a database for instances that share it. */
export const webhooksDatabase = () => testDatabase([audit, migrations]);

/**
 * Starts the real service on a real database and, unless `bus` is set, the in-process bus. Webhooks may call loopback.
 * The instance creates its own database and drops it when it stops, unless `given` is set.
 */
export async function startWebhooks(
  overrides: Partial<WebhooksConfig> = {},
  {
    given,
    log = silent,
    hasAlerts = true,
    bus = createInProcessBus({ log }),
    operational = {},
  }: {
    given?: TestDatabase;
    log?: Logger;
    hasAlerts?: boolean;
    bus?: EventBus;
    operational?: WebhooksContext['operational'];
  } = {},
) {
  const database = given ?? (await webhooksDatabase());
  const connection = { url: database.url, max: 8, applicationName: 'webhooks', log };
  const pool = testPool(connection);
  const keyedPool = testPool({ ...connection, max: 4, plans: 'kept' });
  const config: WebhooksConfig = {
    host: '127.0.0.1',
    port: 0,
    metricsAddress: undefined,
    secretKeys: [Buffer.alloc(32, 1)],
    pageTokenKeys: [Buffer.alloc(32, 2)],
    topic,
    noticeTopic: 'rms.notices.v1',
    group: 'rms-webhooks',
    partitions: 3,
    replication: 1,
    egress: { allowHttp: true, allowCidrs: ['127.0.0.0/8'] },
    eraseOnDelete: false,
    retentionDays: 30,
    disableAfterHours: 120,
    maxWebhooks: 1_000,
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
  const context = { pool, keyedPool, bus, log, metrics, security: loopbackOnly, operational };
  const service = createWebhooks(config, { ...context, usage: hasAlerts ? usage : undefined });
  await service.start();
  const target = { target: service.address, timeoutMs: 60_000 };
  const webhooks = createClient(WebhooksService, target);
  const deliveries = createClient(DeliveriesService, target);
  const feed = createClient(EventsService, target);
  const deadLetters = createClient(DeadLettersService, target);
  const secrets = createClient(SecretsService, target);
  const health = createClient(Health, target);

  /** Creates a tenant's webhook, for all events unless `more` says otherwise. */
  const subscribe = async (
    tenant: Tenant,
    url: string,
    more: MessageInitShape<typeof CreateWebhookRequestSchema> = {},
  ) => {
    const { webhook, secret } = await webhooks.createWebhook({ ...tenant, url, events: ['*'], ...more });
    if (!webhook) throw new Error('no webhook in the response');
    return { id: webhook.id, secret };
  };
  /** Creates a tenant with a webhook. */
  const newSubscriber = async (url: string, more: MessageInitShape<typeof CreateWebhookRequestSchema> = {}) => {
    const tenant = newTenant();
    await subscribe(tenant, url, more);
    return tenant;
  };
  /** Publishes events like the relay. Resolves when they are stored. */
  const publish = (...events: ReturnType<typeof newEvent>[]) => publishRecords(...events.map(toRecord));
  const publishRecords = (...records: BusRecord[]) =>
    bus.publish({ topic: config.topic, partition: 0, records }, AbortSignal.timeout(60_000));
  /** Returns the dead letters of a workspace, or those without a workspace. */
  const readDeadLetters = async (workspaceId = '') => {
    const page = await deadLetters.listDeadLetters({ workspaceId, pageSize: 1_000 });
    return page.deadLetters.filter((letter) => letter.workspaceId === workspaceId);
  };
  /** Reads the first page of a tenant's log, with all attempts but without their headers and bodies. */
  const list = (tenant: Tenant, filter: object = {}) =>
    deliveries
      .listDeliveries({ ...tenant, pageSize: 1_000, withAttempts: true, ...filter })
      .then((page) => page.deliveries);
  /** Waits until `count` deliveries of a tenant wait for a retry. Returns them. */
  const retrying = (tenant: Tenant, count = 1) =>
    waitUntil(
      async () => {
        const found = await list(tenant, { status: DeliveryStatus.RETRYING });
        return found.length === count && found;
      },
      { what: `${count} deliveries that wait for a retry` },
    );
  /** Waits until a tenant has at least `count` deliveries and all of them are complete. Returns the log. */
  const settled = (tenant: Tenant, count: number) =>
    waitUntil(
      async () => {
        const all = await list(tenant);
        const done = all.length >= count && all.every(({ status }) => !unfinishedStatuses.includes(status));
        return done ? all : undefined;
      },
      { what: `${count} settled deliveries` },
    );

  return {
    address: service.address,
    database,
    /** Attempt counts, as reported to alerts. */
    reported,
    bus,
    metrics,
    webhooks,
    deliveries,
    feed,
    secrets,
    health,
    subscribe,
    newSubscriber,
    publish,
    publishRecords,
    deadLetters,
    readDeadLetters,
    list,
    retrying,
    settled,
    async stop() {
      webhooks.close();
      deliveries.close();
      feed.close();
      deadLetters.close();
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

/** Returns a retry policy whose delays are all `delayMs`, or grow from there to `maxDelayMs`. */
export function retries(maxRetries: number, delayMs: number, maxDelayMs = delayMs) {
  return { maxRetries, initialDelay: durationFromMs(delayMs), maxDelay: durationFromMs(maxDelayMs) };
}

/** Makes a bus record like the relay. */
export function toRecord(event: ReturnType<typeof newEvent>): BusRecord {
  return { key: event.resourceId, value: toBinary(ResourceEventSchema, event), headers: { 'event-id': event.id } };
}

/** Sequences of the latest events of resources, by tenant and ID. */
const sequences = new Map<string, bigint>();

/** Makes an event of a tenant like the resources service. A resource's events are numbered in the calls' order. */
export function newEvent(tenant: Tenant, type = 'resource.created', name = 'thing', resourceId = newId('res')) {
  const resource = `${tenant.workspaceId} ${tenant.environment} ${resourceId}`;
  const sequence = (sequences.get(resource) ?? 0n) + 1n;
  sequences.set(resource, sequence);
  const id = newId('evt');
  const now = new Date();
  const object = { id: resourceId, type: 'resource', status: 'active', name };
  const body = Buffer.from(JSON.stringify({ id, type, created_at: now.toISOString(), data: { object } }));
  return create(ResourceEventSchema, {
    id,
    type,
    ...tenant,
    resourceId,
    sequence,
    createTime: timestampFromDate(now),
    requestId: newId('req'),
    body,
  });
}

/** Makes events of different resources. */
export function newEvents(tenant: Tenant, count: number) {
  return Array.from({ length: count }, () => newEvent(tenant));
}

/** Makes a resource's events. */
export function laneOf(
  tenant: Tenant,
  count: number,
  { resourceId = newId('res'), nameOf = String }: { resourceId?: string; nameOf?: (index: number) => string } = {},
) {
  return Array.from({ length: count }, (_, i) => newEvent(tenant, 'resource.updated', nameOf(i), resourceId));
}
