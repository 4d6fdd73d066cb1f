import { showPools } from '@rms/db';
import { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { SecretsService } from '@rms/proto/rms/alerts/v1/secrets_service_pb';
import { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { createGrpcService, type GrpcService, rpcService } from '@rms/rpc';
import { createSecretBox } from '@rms/secrets';
import { showHousekeeping } from '@rms/service';
import { callers } from './callers.ts';
import type { AlertsConfig } from './config.ts';
import type { AlertsContext } from './context.ts';
import { createEvaluator } from './evaluate/evaluator.ts';
import { createKeySweep } from './evaluate/key-sweep.ts';
import { createHousekeeping } from './housekeeping.ts';
import { chooseDelivery } from './mail/choose-delivery.ts';
import { createMailSender } from './mail/sender.ts';
import { createAlertsMetrics } from './metrics.ts';
import { createNoticeConsumer } from './notices/notice-consumer.ts';
import { createAccountMails } from './notify/account-mails.ts';
import { createNotifier } from './notify/notifier.ts';
import { createPeople } from './notify/recipients.ts';
import { describeUnsubscribe } from './rpc/describe-unsubscribe.ts';
import { getUsage } from './rpc/get-usage.ts';
import type { HandlerParts } from './rpc/handler.ts';
import { listIncidents } from './rpc/list-incidents.ts';
import { listRules } from './rpc/list-rules.ts';
import { reencryptSecrets } from './rpc/reencrypt-secrets.ts';
import { reportUsage } from './rpc/report-usage.ts';
import { testRule } from './rpc/test-rule.ts';
import { unsubscribe } from './rpc/unsubscribe.ts';
import { updateRule } from './rpc/update-rule.ts';
import { createQuotaKeeper } from './usage/quota-keeper.ts';

/** How much the API is used, and who hears of it by mail when something is wrong. */
export function createAlerts(config: AlertsConfig, context: AlertsContext): GrpcService {
  const { pool, bus, limiter, auth, log } = context;
  const { dashboardUrl, unsubscribeKeys, evaluateEveryMs, sweepKeysEveryMs, noticeTopic, group } = config;
  const now = context.now ?? Date.now;
  showPools(context.metrics, { alerts: pool });
  const metrics = createAlertsMetrics(context.metrics);
  const [mailKey, ...previousKeys] = config.mailKeys;
  const box = createSecretBox(mailKey, previousKeys);
  const deliver = chooseDelivery(config, log);
  const sender = deliver && createMailSender({ pool, box, deliver, sender: config.sender, metrics, log });
  const onMails = () => sender?.wake();
  const people = createPeople(auth.members, auth.workspaces);
  const notifier = createNotifier({ pool, people, box, unsubscribeKeys, dashboardUrl, log, onMails });
  const parts: HandlerParts = { pool, log, now };
  return createGrpcService({
    name: 'alerts',
    host: config.host,
    port: config.port,
    log,
    metrics: context.metrics,
    security: context.security,
    callers,
    metricsAddress: config.metricsAddress,
    services: [
      rpcService(UsageService, { reportUsage: reportUsage(parts), getUsage: getUsage(parts) }),
      rpcService(AlertsService, {
        listRules: listRules(parts),
        updateRule: updateRule(parts),
        testRule: testRule({ notifier }),
        listIncidents: listIncidents(parts),
        describeUnsubscribe: describeUnsubscribe(parts, unsubscribeKeys),
        unsubscribe: unsubscribe(parts, unsubscribeKeys),
      }),
      rpcService(SecretsService, { reencryptSecrets: reencryptSecrets(parts, box) }),
    ],
    workers: [
      createEvaluator({ pool, log, now, everyMs: evaluateEveryMs, onNotices: notifier.wake, metrics }),
      createKeySweep({ pool, ...auth, log, everyMs: sweepKeysEveryMs }),
      createNoticeConsumer({ pool, bus, topic: noticeTopic, group, log }),
      notifier,
      createAccountMails({ pool, auth: auth.mailRequests, box, dashboardUrl, log, onMails }),
      ...(sender ? [sender] : []),
      createQuotaKeeper({ pool, limiter, log, now }),
      createHousekeeping({ pool, onSuccess: showHousekeeping(context.metrics) }),
    ],
    checks: {
      async database() {
        await pool.query('select 1');
      },
    },
    async open() {
      await limiter.start();
      await bus.start([{ topic: noticeTopic, partitions: 1, replication: config.replication }]);
    },
    async close() {
      await bus.stop();
      await limiter.stop();
      for (const client of [auth.keys, auth.workspaces, auth.members, auth.mailRequests]) client.close();
      await pool.end();
    },
  });
}
