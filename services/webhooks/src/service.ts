import { createSecretBox } from '@rms/base/secrets';
import { eventRetentionMs } from '@rms/bus';
import { createEgress, withPublic } from '@rms/net/guarded-http';
import { createDatabaseWatch, showPools, translatePgError } from '@rms/postgres/db';
import { Idempotency } from '@rms/postgres/idempotency';
import { queuedEvents } from '@rms/postgres/operational-events';
import { DeadLettersService } from '@rms/proto/rms/webhooks/v1/dead_letters_service_pb';
import { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { LookupService } from '@rms/proto/rms/webhooks/v1/lookup_service_pb';
import { SecretsService } from '@rms/proto/rms/webhooks/v1/secrets_service_pb';
import { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { WorkspaceDeletionService } from '@rms/proto/rms/webhooks/v1/workspace_deletion_service_pb';
import { createGrpcService, type GrpcService, rpcService } from '@rms/rpc';
import { callers } from './callers.ts';
import type { WebhooksConfig } from './config.ts';
import type { WebhooksContext } from './context.ts';
import { createDeliveryUsage } from './delivery/delivery-usage.ts';
import { createEndCounter } from './delivery/ended-deliveries.ts';
import { createReplayer } from './delivery/replayer.ts';
import { createAttemptReporter } from './engine/attempt/attempt-reporter.ts';
import { createEndpointAgents } from './engine/attempt/endpoint-agents.ts';
import { SecretCache } from './engine/attempt/signers.ts';
import { showBacklog } from './engine/backlog-gauges.ts';
import { DeliveryEngine } from './engine/engine.ts';
import { showEngine } from './engine/engine-gauges.ts';
import { createEndings } from './engine/record/endings.ts';
import { createEndpointHealth } from './engine/record/endpoint-health.ts';
import { createRejectedReporter } from './engine/rejected-reporter.ts';
import { createDeferredFanOut } from './event/deferred-fan-out.ts';
import { createEventStore } from './event/event-store.ts';
import { createFanOut } from './event/fan-out.ts';
import { createFeedWatchers } from './event/feed-watchers.ts';
import { createOperationalEvents, eventsOf, ownEvents } from './event/operational-events.ts';
import { createParkedRecords } from './event/parked-records.ts';
import { logPartitions } from './event/partitions.ts';
import { createAttemptTally } from './health/attempt-tally.ts';
import { createHousekeeping } from './housekeeping.ts';
import { createWebhooksMetrics, showConsumerLag, showDeadLetters } from './metrics.ts';
import { createNoticeRelay } from './notices/notice-relay.ts';
import { batchGetWebhookHealth } from './rpc/batch-get-webhook-health.ts';
import { cancelDelivery } from './rpc/cancel-delivery.ts';
import { cancelReplay } from './rpc/cancel-replay.ts';
import { countContents } from './rpc/count-contents.ts';
import { countDeliveries } from './rpc/count-deliveries.ts';
import { countUnfinishedDeliveries } from './rpc/count-unfinished-deliveries.ts';
import { countWebhooks } from './rpc/count-webhooks.ts';
import { createWebhook } from './rpc/create-webhook.ts';
import { deleteContents } from './rpc/delete-contents.ts';
import { deleteWebhook } from './rpc/delete-webhook.ts';
import { findWorkspaces } from './rpc/find-workspaces.ts';
import { getDelivery } from './rpc/get-delivery.ts';
import { getEvent } from './rpc/get-event.ts';
import { getReplay } from './rpc/get-replay.ts';
import { getWebhook } from './rpc/get-webhook.ts';
import { listDeadLetters } from './rpc/list-dead-letters.ts';
import { listDeliveries } from './rpc/list-deliveries.ts';
import { listEvents } from './rpc/list-events.ts';
import { listEventsOfRequest } from './rpc/list-events-of-request.ts';
import { listEventsOfResource } from './rpc/list-events-of-resource.ts';
import { listReplays } from './rpc/list-replays.ts';
import { listWebhooks } from './rpc/list-webhooks.ts';
import type { HandlerParts } from './rpc/parts.ts';
import { redeliverDelivery } from './rpc/redeliver-delivery.ts';
import { reencryptSecrets } from './rpc/reencrypt-secrets.ts';
import { replayDeadLetters } from './rpc/replay-dead-letters.ts';
import { replayDeliveries } from './rpc/replay-deliveries.ts';
import { rotateSecret } from './rpc/rotate-secret.ts';
import { tailDeliveries } from './rpc/tail-deliveries.ts';
import { testFilter } from './rpc/test-filter.ts';
import { testWebhook } from './rpc/test-webhook.ts';
import { pauseWebhook, resumeWebhook, updateWebhook } from './rpc/update-webhook.ts';
import { watchEvents } from './rpc/watch-events.ts';
import { responseContext } from './secrets/contexts.ts';
import { createKeyCheck } from './secrets/key-check.ts';

/** The rows that the database watch looks for; see createDatabaseWatch. */
const queues = {
  scheduled: 'select from webhooks.endpoints where next_due_at is not null order by next_due_at',
  deferred: 'select from webhooks.deferred_events order by workspace_id, environment, position',
  parked: 'select from webhooks.dead_letters where parked order by workspace_id, environment, id',
  replays: `select from webhooks.replays where status = 'running' order by next_at`,
  notices: 'select from webhooks.notices order by sequence',
  operational: queuedEvents('webhooks'),
  lanes: 'select from webhooks.deliveries where due_at is null order by webhook_id, resource_id',
  endCounts: 'select from webhooks.end_counts order by workspace_id, environment, id',
};

/** Creates the webhooks service: subscriptions, event fan-out, delivery with retries, and the delivery log. */
export function createWebhooks(config: WebhooksConfig, context: WebhooksContext): GrpcService {
  const { pool, keyedPool, bus, log } = context;
  const { topic, group, partitions, replication, pageTokenKeys, maxWebhooks } = config;
  const metrics = createWebhooksMetrics(context.metrics);
  const [secretKey, ...previousKeys] = config.secretKeys;
  const box = createSecretBox(secretKey, previousKeys);
  const secrets = new SecretCache(box);
  const egress = createEgress(config.egress, log);
  const { ca } = config.egress;
  const proxy = config.egress.proxy?.(log);
  if (proxy)
    log.info(
      { host: proxy.host, port: proxy.port },
      'webhook calls use an egress proxy, which must block forbidden addresses',
    );
  const agents = createEndpointAgents({ egress, ...(ca ? { ca: withPublic(() => ca(log)) } : {}) }, box);
  const endings = createEndings(pool);
  const watch = createDatabaseWatch(keyedPool, queues);
  const { time } = watch;
  const { scheduled, deferred, parked, replays, notices, operational, lanes, endCounts } = watch.queues;
  const { disableAfterHours } = config;
  const health = createEndpointHealth({ pool, endings, queues: watch.queues, log, disableAfterHours });
  const usage = createDeliveryUsage(context.usage, { log, now: time.nowMs });
  const tally = createAttemptTally(pool, { log, now: time.nowMs });
  const counters = [usage, tally, createEndCounter(context.metrics)];
  const reportRejected = createRejectedReporter(context.metrics, log);
  const engine = new DeliveryEngine({
    pool,
    keyedPool,
    scheduled,
    agents,
    secrets,
    health,
    endings,
    counters,
    report: createAttemptReporter(context.metrics, log),
    reportRejected,
    log,
    releaseLeases: config.releaseLeases,
  });
  showPools(context.metrics, { webhooks: pool, webhooks_keyed: keyedPool });
  showEngine(context.metrics, () => engine.state());
  showBacklog(context.metrics, pool, () => engine.state());
  showConsumerLag(context.metrics, bus, { topic, group });
  showDeadLetters(context.metrics, pool);
  const checkKeys = createKeyCheck({ pool, box, log });
  const watchers = createFeedWatchers();
  const { retentionDays } = config;
  const topics = { bus, topic, group, retentionDays };
  const storing = { pool: keyedPool, engine, time, metrics, usage, log };
  const fanOut = createFanOut({ ...topics, ...storing, watchers, deferred, parked });
  const store = createEventStore({ ...storing, topic, watchers, deferred });
  const operationalParts = { pool, store, time, retentionDays, log };
  const idempotency = new Idempotency({ pool, box, schema: 'webhooks', contextOf: responseContext });
  const stores = { pool, box, idempotency, secrets, agents, egress, engine, watchers, queues: watch.queues, time };
  const parts: HandlerParts = { ...stores, pageTokenKeys, maxWebhooks, log };

  return createGrpcService({
    name: 'webhooks',
    host: config.host,
    port: config.port,
    log,
    metrics: context.metrics,
    security: context.security,
    callers,
    metricsAddress: config.metricsAddress,
    translateError: translatePgError,
    services: [
      rpcService(WebhooksService, {
        createWebhook: createWebhook(parts),
        getWebhook: getWebhook(parts),
        listWebhooks: listWebhooks(parts),
        updateWebhook: updateWebhook(parts),
        deleteWebhook: deleteWebhook(parts),
        pauseWebhook: pauseWebhook(parts),
        resumeWebhook: resumeWebhook(parts),
        rotateSecret: rotateSecret(parts),
        testWebhook: testWebhook(parts),
        testFilter: testFilter(parts),
        batchGetWebhookHealth: batchGetWebhookHealth(parts),
        countWebhooks: countWebhooks(parts),
      }),
      rpcService(DeliveriesService, {
        listDeliveries: listDeliveries(parts),
        getDelivery: getDelivery(parts),
        redeliverDelivery: redeliverDelivery(parts),
        cancelDelivery: cancelDelivery(parts),
        replayDeliveries: replayDeliveries(parts),
        getReplay: getReplay(parts),
        listReplays: listReplays(parts),
        cancelReplay: cancelReplay(parts),
        countDeliveries: countDeliveries(parts),
        countUnfinishedDeliveries: countUnfinishedDeliveries(parts),
        tailDeliveries: tailDeliveries(parts),
      }),
      rpcService(EventsService, {
        listEvents: listEvents(parts),
        getEvent: getEvent(parts),
        watchEvents: watchEvents(parts),
        listEventsOfRequest: listEventsOfRequest(parts),
        listEventsOfResource: listEventsOfResource(parts),
      }),
      rpcService(DeadLettersService, {
        listDeadLetters: listDeadLetters(parts),
        replayDeadLetters: replayDeadLetters(parts),
      }),
      rpcService(LookupService, { findWorkspaces: findWorkspaces(parts) }),
      rpcService(SecretsService, { reencryptSecrets: reencryptSecrets(parts) }),
      rpcService(WorkspaceDeletionService, {
        countContents: countContents(parts),
        deleteContents: deleteContents(parts),
      }),
    ],
    workers: [
      watch.worker,
      fanOut,
      createDeferredFanOut({ ...storing, queue: deferred }),
      createParkedRecords({ pool, queue: parked, engine, watchers, deferred, time, retentionDays, log }),
      engine,
      createReplayer({ pool, queue: replays, engine, log }),
      createOperationalEvents('operational-events', ownEvents(pool), operationalParts, operational.sleep),
      ...Object.entries(context.operational).map(([name, client]) =>
        createOperationalEvents(`operational-events-of-${name}`, eventsOf(client), operationalParts),
      ),
      createNoticeRelay({ pool, queue: notices, bus, topic: config.noticeTopic, log }),
      createHousekeeping({
        pool,
        lanes,
        endCounts,
        log,
        metrics: context.metrics,
        eraseOnDelete: config.eraseOnDelete,
        retentionDays: config.retentionDays,
        counters,
        reportRejected,
      }),
    ],
    checks: {
      database: watch.check,
      'encryption key': checkKeys,
    },
    async open() {
      await watch.start();
      await logPartitions.checkLocks(pool, {
        setting: 'LOG_RETENTION_DAYS',
        retentionDays: config.retentionDays,
        connections: pool.options.max + keyedPool.options.max,
      });
      usage.start();
      tally.start();
      await bus.start([
        { topic, partitions, replication, retentionMs: eventRetentionMs },
        { topic: config.noticeTopic, partitions: 1, replication },
      ]);
    },
    async close() {
      await Promise.all([usage.stop(), tally.stop()]);
      context.usage?.close();
      for (const client of Object.values(context.operational)) client.close();
      await bus.stop();
      await agents.close();
      await Promise.all([pool.end(), keyedPool.end()]);
    },
  });
}
