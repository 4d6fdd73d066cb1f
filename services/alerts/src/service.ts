import { createSecretBox } from '@rms/base/secrets';
import { createDatabaseWatch, showPools, translatePgError } from '@rms/postgres/db';
import { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { SecretsService } from '@rms/proto/rms/alerts/v1/secrets_service_pb';
import { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { WorkspaceDeletionService } from '@rms/proto/rms/alerts/v1/workspace_deletion_service_pb';
import { createGrpcService, type GrpcService, rpcService } from '@rms/rpc';
import { callers } from './callers.ts';
import type { AlertsConfig } from './config.ts';
import type { AlertsContext } from './context.ts';
import { chooseDelivery } from './email/choose-delivery.ts';
import { createEmailSender } from './email/sender.ts';
import { createEvaluator, dueTenants } from './evaluate/evaluator.ts';
import { createKeySweep } from './evaluate/key-sweep.ts';
import { createHousekeeping } from './housekeeping.ts';
import { createAlertsMetrics } from './metrics.ts';
import { createNoticeConsumer } from './notices/notice-consumer.ts';
import { createAccountEmails } from './notify/account-emails.ts';
import { createNotifier } from './notify/notifier.ts';
import { createRecipients } from './recipient/recipients.ts';
import { createWorkspaces } from './recipient/workspaces.ts';
import { confirmRecipient } from './rpc/confirm-recipient.ts';
import { deleteContents } from './rpc/delete-contents.ts';
import { describeRecipient } from './rpc/describe-recipient.ts';
import { describeUnsubscribe } from './rpc/describe-unsubscribe.ts';
import { getEmailStatus } from './rpc/get-email-status.ts';
import { getUsage } from './rpc/get-usage.ts';
import type { HandlerParts } from './rpc/handler.ts';
import { listIncidents } from './rpc/list-incidents.ts';
import { listRules } from './rpc/list-rules.ts';
import { reencryptSecrets } from './rpc/reencrypt-secrets.ts';
import { reportUsage } from './rpc/report-usage.ts';
import { resubscribe } from './rpc/resubscribe.ts';
import { testRule } from './rpc/test-rule.ts';
import { unsubscribe } from './rpc/unsubscribe.ts';
import { updateRule } from './rpc/update-rule.ts';
import { createQuotaKeeper } from './usage/quota-keeper.ts';

/** Creates the alerts service: usage counts, alert rules, incidents and emails. */
export function createAlerts(config: AlertsConfig, context: AlertsContext): GrpcService {
  const { pool, bus, limiter, auth, log } = context;
  const { dashboardUrl, unsubscribeKeys, evaluateEveryMs, sweepKeysEveryMs, gatherMs, noticeTopic, group } = config;
  const watch = createDatabaseWatch(pool, {
    evaluations: dueTenants(evaluateEveryMs),
    notifications: 'select from alerts.notifications order by workspace_id, due_at',
    emails: `select from alerts.emails where state = 'queued' order by workspace_id, due_at`,
  });
  const { time } = watch;
  const { evaluations, notifications, emails } = watch.queues;
  const now = context.now ?? time.nowMs;
  showPools(context.metrics, { alerts: pool });
  const metrics = createAlertsMetrics(context.metrics);
  const [encryptionKey, ...previousKeys] = config.encryptionKeys;
  const box = createSecretBox(encryptionKey, previousKeys);
  const deliver = chooseDelivery(config, log);
  const sender =
    deliver && createEmailSender({ pool, queue: emails, time, box, deliver, sender: config.sender, metrics, log });
  const onEmails = () => emails.wake();
  const workspaces = createWorkspaces(auth.members, auth.workspaces);
  const recipients = createRecipients({ pool, time, workspaces, box, tokenKeys: unsubscribeKeys, dashboardUrl });
  const notifier = createNotifier({
    ...{
      pool,
      queue: notifications,
      time,
      workspaces,
      recipients,
      box,
      unsubscribeKeys,
      dashboardUrl,
      gatherMs,
      log,
      onEmails,
    },
  });
  const onNotices = () => notifications.wake();
  const parts: HandlerParts = { pool, evaluations, time, log, now };
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
      rpcService(UsageService, { reportUsage: reportUsage(parts), getUsage: getUsage(parts) }),
      rpcService(AlertsService, {
        listRules: listRules(parts, recipients),
        updateRule: updateRule({ pool, evaluations, workspaces, recipients, onEmails }),
        testRule: testRule({ pool, notifier, isSending: sender !== undefined }),
        listIncidents: listIncidents(parts),
        describeUnsubscribe: describeUnsubscribe(parts, unsubscribeKeys),
        unsubscribe: unsubscribe(parts, unsubscribeKeys),
        resubscribe: resubscribe(parts, unsubscribeKeys),
        describeRecipient: describeRecipient(parts, workspaces, unsubscribeKeys),
        confirmRecipient: confirmRecipient(parts, unsubscribeKeys),
        getEmailStatus: getEmailStatus(parts, config),
      }),
      rpcService(SecretsService, { reencryptSecrets: reencryptSecrets(parts, box) }),
      rpcService(WorkspaceDeletionService, { deleteContents: deleteContents(parts) }),
    ],
    workers: [
      watch.worker,
      createEvaluator({ pool, queue: evaluations, log, now, everyMs: evaluateEveryMs, gatherMs, onNotices, metrics }),
      createKeySweep({ pool, time, ...auth, log, everyMs: sweepKeysEveryMs }),
      createNoticeConsumer({ pool, evaluations, bus, topic: noticeTopic, group, log }),
      notifier,
      createAccountEmails({ pool, time, auth: auth.emailRequests, box, dashboardUrl, log, onEmails }),
      ...(sender ? [sender] : []),
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
      await limiter.stop();
      for (const client of [auth.keys, auth.workspaces, auth.members, auth.emailRequests]) client.close();
      await pool.end();
    },
  });
}
