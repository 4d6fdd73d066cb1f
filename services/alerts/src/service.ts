import { createSecretBox } from '@rms/base/secrets';
import { createEgress, createGuardedAgent, withPublic } from '@rms/net/guarded-http';
import { createDatabaseWatch, showPools, translatePgError } from '@rms/postgres/db';
import { Idempotency } from '@rms/postgres/idempotency';
import { listingHandlers, queuedEvents } from '@rms/postgres/operational-events';
import { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { SecretsService } from '@rms/proto/rms/alerts/v1/secrets_service_pb';
import { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { WorkspaceDeletionService } from '@rms/proto/rms/alerts/v1/workspace_deletion_service_pb';
import { OperationalEventsService } from '@rms/proto/rms/events/v1/operational_events_service_pb';
import { createGrpcService, type GrpcService, rpcService } from '@rms/rpc';
import { callers } from './callers.ts';
import { transmit } from './channel/transmit.ts';
import type { AlertsConfig } from './config.ts';
import type { AlertsContext } from './context.ts';
import { chooseDelivery } from './email/choose-delivery.ts';
import { createEmailSender, createSender } from './email/sender.ts';
import { createEvaluator, dueTenants } from './evaluate/evaluator.ts';
import { createKeySweep } from './evaluate/key-sweep.ts';
import { createHousekeeping } from './housekeeping.ts';
import { createAlertsMetrics } from './metrics.ts';
import { createNoticeConsumer } from './notices/notice-consumer.ts';
import { createAccountEmails } from './notify/account-emails.ts';
import { createNotifier } from './notify/notifier.ts';
import { createPages } from './notify/pages.ts';
import { createRecipients } from './recipient/recipients.ts';
import { createWorkspaces } from './recipient/workspaces.ts';
import { createChannel, deleteChannel, updateChannel } from './rpc/change-channel.ts';
import { confirmRecipient } from './rpc/confirm-recipient.ts';
import { deleteContents } from './rpc/delete-contents.ts';
import { describeRecipient } from './rpc/describe-recipient.ts';
import { describeUnsubscribe } from './rpc/describe-unsubscribe.ts';
import { getChannel } from './rpc/get-channel.ts';
import { getDeliveryMetrics } from './rpc/get-delivery-metrics.ts';
import { getEmailStatus } from './rpc/get-email-status.ts';
import { getIncident } from './rpc/get-incident.ts';
import { getRequestMetrics } from './rpc/get-request-metrics.ts';
import { getRule } from './rpc/get-rule.ts';
import { getUsage } from './rpc/get-usage.ts';
import { acknowledgeIncident, muteIncident } from './rpc/handle-incident.ts';
import type { HandlerParts } from './rpc/handler.ts';
import { listChannels } from './rpc/list-channels.ts';
import { listIncidents } from './rpc/list-incidents.ts';
import { listRules } from './rpc/list-rules.ts';
import { reencryptSecrets } from './rpc/reencrypt-secrets.ts';
import { reportUsage } from './rpc/report-usage.ts';
import { resubscribe } from './rpc/resubscribe.ts';
import { testChannel } from './rpc/test-channel.ts';
import { testRule } from './rpc/test-rule.ts';
import { unsubscribe } from './rpc/unsubscribe.ts';
import { updateRule } from './rpc/update-rule.ts';
import { responseContext } from './sealed/contexts.ts';
import { createQuotaKeeper } from './usage/quota-keeper.ts';

/** Creates the alerts service: usage counts, alert rules, incidents and emails. */
export function createAlerts(config: AlertsConfig, context: AlertsContext): GrpcService {
  const { pool, bus, limiter, auth, log } = context;
  const { dashboardUrl, unsubscribeKeys, evaluateEveryMs, sweepKeysEveryMs, pollMs, gatherMs, noticeTopic, group } =
    config;
  const watch = createDatabaseWatch(pool, {
    evaluations: dueTenants(evaluateEveryMs),
    notifications: 'select from alerts.notifications order by workspace_id, due_at',
    emails: `select from alerts.emails where state = 'queued' order by workspace_id, due_at`,
    channelMessages: `select from alerts.channel_messages where state = 'queued' order by workspace_id, due_at`,
    operational: queuedEvents('alerts'),
  });
  const { time } = watch;
  const { evaluations, notifications, emails, channelMessages, operational } = watch.queues;
  const now = context.now ?? time.nowMs;
  showPools(context.metrics, { alerts: pool });
  const metrics = createAlertsMetrics(context.metrics);
  const [encryptionKey, ...previousKeys] = config.encryptionKeys;
  const box = createSecretBox(encryptionKey, previousKeys);
  const deliver = chooseDelivery(config, log);
  const sender =
    deliver &&
    createEmailSender({ pool, queue: emails, time, pollMs, box, deliver, sender: config.sender, metrics, log });
  const egress = createEgress(config.egress, log);
  const { ca } = config.egress;
  const agent = createGuardedAgent({ egress, ...(ca ? { ca: withPublic(() => ca(log)) } : {}) });
  const transmitParts = { db: pool, box, agent, pagerDutyUrl: config.pagerDutyUrl, dashboardUrl };
  const channelSender = createSender({
    ...{ name: 'channel-messages', table: 'alerts.channel_messages', noun: 'channel message', time, pollMs, pool, log },
    queue: channelMessages,
    transmit: (message) => transmit(transmitParts, message),
    count: (outcome) => metrics.channelMessages.inc({ outcome }),
  });
  const pages = createPages(() => channelMessages.wake());
  const onEmails = () => {
    emails.wake();
    channelMessages.wake();
  };
  const workspaces = createWorkspaces(auth.members, auth.workspaces);
  const recipients = createRecipients({ pool, time, workspaces, box, tokenKeys: unsubscribeKeys, dashboardUrl });
  const notifier = createNotifier({
    ...{
      pool,
      queue: notifications,
      time,
      workspaces,
      recipients,
      requests: auth.requests,
      box,
      unsubscribeKeys,
      dashboardUrl,
      pollMs,
      gatherMs,
      log,
      onEmails,
    },
  });
  const onNotices = () => {
    notifications.wake();
    operational.wake();
  };
  const idempotency = new Idempotency({ pool, box, schema: 'alerts', contextOf: responseContext });
  const { pageTokenKeys } = config;
  const parts: HandlerParts = { pool, evaluations, time, idempotency, pageTokenKeys, log, now };
  const channelParts = { ...parts, box, egress, workspaces, recipients, onEmails };
  return createGrpcService({
    name: 'alerts',
    host: config.host,
    port: config.port,
    log,
    metrics: context.metrics,
    security: context.security,
    callers,
    metricsAddress: config.metricsAddress,
    translateError: translatePgError,
    services: [
      rpcService(UsageService, {
        reportUsage: reportUsage(parts),
        getUsage: getUsage(parts),
        getRequestMetrics: getRequestMetrics(parts),
        getDeliveryMetrics: getDeliveryMetrics(parts),
      }),
      rpcService(AlertsService, {
        listRules: listRules(parts, recipients),
        getRule: getRule(parts, recipients),
        updateRule: updateRule({ pool, evaluations, workspaces, recipients, onEmails }),
        testRule: testRule({ ...parts, notifier, isSending: sender !== undefined, onEmails }),
        listIncidents: listIncidents(parts),
        getIncident: getIncident(parts),
        acknowledgeIncident: acknowledgeIncident(parts, pages),
        muteIncident: muteIncident(parts),
        listChannels: listChannels(parts, recipients),
        getChannel: getChannel(parts, recipients),
        createChannel: createChannel(channelParts),
        updateChannel: updateChannel(channelParts),
        deleteChannel: deleteChannel(parts),
        testChannel: testChannel({ ...channelParts, ...transmitParts, isSending: sender !== undefined }),
        describeUnsubscribe: describeUnsubscribe(parts, unsubscribeKeys),
        unsubscribe: unsubscribe(parts, unsubscribeKeys),
        resubscribe: resubscribe(parts, unsubscribeKeys),
        describeRecipient: describeRecipient(parts, workspaces, unsubscribeKeys),
        confirmRecipient: confirmRecipient(parts, unsubscribeKeys),
        getEmailStatus: getEmailStatus(parts, config),
      }),
      rpcService(OperationalEventsService, listingHandlers(pool, 'alerts', operational)),
      rpcService(SecretsService, { reencryptSecrets: reencryptSecrets(parts, box) }),
      rpcService(WorkspaceDeletionService, { deleteContents: deleteContents(parts) }),
    ],
    workers: [
      watch.worker,
      createEvaluator({
        ...{ pool, queue: evaluations, log, now, everyMs: evaluateEveryMs, gatherMs, onNotices, pages, metrics },
      }),
      createKeySweep({ pool, time, ...auth, log, everyMs: sweepKeysEveryMs }),
      createNoticeConsumer({ pool, evaluations, bus, topic: noticeTopic, group, pages, log }),
      notifier,
      createAccountEmails({ pool, time, auth: auth.emailRequests, box, dashboardUrl, log, onEmails }),
      ...(sender ? [sender] : []),
      channelSender,
      createQuotaKeeper({ pool, limiter, log, now }),
      createHousekeeping({ pool, log, metrics: context.metrics }),
    ],
    checks: {
      database: watch.check,
    },
    async open() {
      await Promise.all([watch.start(), limiter.start()]);
      await bus.start([{ topic: noticeTopic, partitions: 1, replication: config.replication }]);
    },
    async close() {
      await bus.stop();
      await agent.destroy();
      await limiter.stop();
      for (const client of [auth.keys, auth.workspaces, auth.members, auth.emailRequests, auth.requests])
        client.close();
      await pool.end();
    },
  });
}
