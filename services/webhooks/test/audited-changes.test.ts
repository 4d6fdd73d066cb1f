import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Scope } from '@rms/proto/rms/common/v1/common_pb';
import { DeadLettersService } from '@rms/proto/rms/webhooks/v1/dead_letters_service_pb';
import { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { LookupService } from '@rms/proto/rms/webhooks/v1/lookup_service_pb';
import { SecretsService } from '@rms/proto/rms/webhooks/v1/secrets_service_pb';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import {
  type AuditedCases,
  auditedChain,
  auditedSecrets,
  makeCertificates,
  perSuite,
  perTest,
  readAudited,
  startReceiver,
  suiteFolder,
  testAuditedCases,
  waitUntil,
} from '@rms/testkit';
import { newEvent, newTenant, startWebhooks, type Tenant } from './support.ts';

const services = [DeadLettersService, DeliveriesService, EventsService, LookupService, SecretsService, WebhooksService];
const time = expect.stringMatching(/^\d{4}-.*Z$/);
const secret = '[secret]';

describe('Entries of the audit log of webhooks', () => {
  const folder = suiteFolder('audited');
  /** Values that no entry may contain. */
  const secrets = new Set<string>();
  const rms = perSuite(startWebhooks);
  const receiver = perTest(startReceiver);

  const byKey = (tenant: Tenant, requestId: string) => {
    const principal = { ...tenant, keyId: 'key_1', scope: Scope.ADMIN };
    return { context: { principal, actorName: 'ci', requestId } };
  };
  const byUser = (requestId: string) => ({
    context: { actor: 'user:usr_1', actorName: 'ann@example.com', requestId },
  });
  const create = async (tenant: Tenant, more: object = {}, context?: { readonly context: object }) => {
    const request = { ...tenant, url: receiver.url, events: ['*'], description: 'Orders', ...more };
    const created = await rms.webhooks.createWebhook(request, context);
    secrets.add(created.secret.slice(6));
    return { ...tenant, id: created.webhook?.id ?? '' };
  };
  /** Publishes an event and returns its delivery once it has the status. */
  const deliver = async (tenant: Tenant, status: DeliveryStatus) => {
    await rms.publish(newEvent(tenant));
    const found = await waitUntil(async () => (await rms.list(tenant, { status }))[0], { what: 'the delivery' });
    return { ...tenant, id: found.id };
  };

  /** Changes of a new webhook with the default settings. */
  const settings = {
    status: [null, 'active'],
    secret: [null, secret],
    ordered: [null, false],
    'retry_policy.max_retries': [null, 5],
    'retry_policy.initial_delay_ms': [null, 60_000],
    'retry_policy.max_delay_ms': [null, 43_200_000],
    'rate_limit.max_concurrency': [null, 32],
    timeout_ms: [null, 10_000],
  } as const;

  const cases: AuditedCases = {
    'WebhooksService/createWebhook': async (requestId) => {
      const tenant = newTenant();
      await create(tenant, { url: `${receiver.url}?token=hunter2hunter2`, description: '' }, byKey(tenant, requestId));
      secrets.add('hunter2hunter2');
      const url = `${receiver.url}?token=[secret]`;
      return [['webhook.created', url, 'ci', { url: [null, url], events: [null, ['*']], ...settings }]];
    },
    'WebhooksService/updateWebhook': async (requestId) => {
      const ref = await create(newTenant());
      const issued = makeCertificates(join(folder, 'ca')).issue('client');
      const [certificate, privateKey] = [issued.certFile, issued.keyFile].map((file) => readFileSync(file, 'utf8'));
      if (!certificate || !privateKey) throw new Error('no certificate');
      secrets.add(privateKey.split('\n')[1] ?? '');
      const changed = {
        url: `${receiver.url}/new`,
        events: { types: ['resource.created', 'resource.deleted'] },
        status: WebhookStatus.DISABLED,
        ordered: true,
        description: 'All orders',
        rateLimit: { maxConcurrency: 4, requestsPerSecond: 2.5 },
        retryPolicy: { maxRetries: 2, delays: [{ seconds: 1n }, { seconds: 2n }] },
        clientCertificate: { certificate, privateKey },
      };
      await rms.webhooks.updateWebhook({ ...ref, ...changed }, byUser(requestId));
      // The second call changes nothing. A client key is encrypted again, which is a change.
      await rms.webhooks.updateWebhook({ ...ref, ...changed, clientCertificate: undefined }, byUser(requestId));
      const changes = {
        url: [receiver.url, `${receiver.url}/new`],
        events: [['*'], ['resource.created', 'resource.deleted']],
        status: ['active', 'disabled'],
        disable_reason: [null, 'manual'],
        client_certificate: [null, expect.stringMatching(/^SHA-256 [0-9A-F:]{95}$/)],
        client_key: [null, secret],
        ordered: [false, true],
        description: ['Orders', 'All orders'],
        'retry_policy.max_retries': [5, 2],
        'retry_policy.delays_ms': [null, ['1000', '2000']],
        'rate_limit.max_concurrency': [32, 4],
        'rate_limit.requests_per_second': [null, 2.5],
      } as const;
      return [['webhook.updated', 'All orders', 'ann@example.com', changes]];
    },
    'WebhooksService/deleteWebhook': async (requestId) => {
      const ref = await create(newTenant());
      await rms.webhooks.deleteWebhook(ref, byUser(requestId));
      const old = { url: receiver.url, events: ['*'], description: 'Orders' };
      const ended = [...Object.entries(old), ...Object.entries(settings).map(([field, [, value]]) => [field, value])];
      return [
        ['webhook.deleted', 'Orders', 'ann@example.com', Object.fromEntries(ended.map(([f, v]) => [f, [v, null]]))],
      ];
    },
    'WebhooksService/pauseWebhook': async (requestId) => {
      const ref = await create(newTenant());
      await rms.webhooks.pauseWebhook(ref, byUser(requestId));
      // The second call changes nothing.
      await rms.webhooks.pauseWebhook(ref, byUser(requestId));
      return [['webhook.updated', 'Orders', 'ann@example.com', { status: ['active', 'paused'] }]];
    },
    'WebhooksService/resumeWebhook': async (requestId) => {
      const ref = await create(newTenant());
      await rms.webhooks.pauseWebhook(ref);
      await rms.webhooks.resumeWebhook(ref, byUser(requestId));
      return [['webhook.updated', 'Orders', 'ann@example.com', { status: ['paused', 'active'] }]];
    },
    'WebhooksService/rotateSecret': async (requestId) => {
      const ref = await create(newTenant());
      const rotated = await rms.webhooks.rotateSecret({ ...ref, overlap: { seconds: 60n } }, byUser(requestId));
      secrets.add(rotated.secret.slice(6));
      const changes = { secret: [secret, secret], previous_secret_until: [null, time] } as const;
      return [['webhook.secret_rotated', 'Orders', 'ann@example.com', changes]];
    },
    'WebhooksService/testWebhook': async (requestId) => {
      const ref = await create(newTenant());
      await rms.webhooks.testWebhook(ref, byUser(requestId));
      return [['webhook.tested', 'Orders', 'ann@example.com', {}]];
    },
    'DeliveriesService/redeliverDelivery': async (requestId) => {
      const tenant = newTenant();
      await create(tenant);
      await rms.deliveries.redeliverDelivery(await deliver(tenant, DeliveryStatus.DELIVERED), byUser(requestId));
      return [['delivery.redelivered', 'resource.created', 'ann@example.com', {}]];
    },
    'DeliveriesService/cancelDelivery': async (requestId) => {
      const tenant = newTenant();
      await create(tenant);
      receiver.respondWith(500);
      await rms.deliveries.cancelDelivery(await deliver(tenant, DeliveryStatus.RETRYING), byUser(requestId));
      const changes = { status: ['retrying', 'canceled'] } as const;
      return [['delivery.canceled', 'resource.created', 'ann@example.com', changes]];
    },
    'DeliveriesService/replayDeliveries': async (requestId) => {
      const ref = await create(newTenant());
      const request = { ...ref, webhookId: ref.id, since: timestampFromMs(0) };
      await rms.deliveries.replayDeliveries(request, byUser(requestId));
      return [['deliveries.replayed', 'Orders', 'ann@example.com', {}]];
    },
    'DeliveriesService/cancelReplay': async (requestId) => {
      const tenant = newTenant();
      const ref = await create(tenant);
      const since = timestampFromMs(0);
      for (let i = 0; i < 3; i += 1) await rms.publish(newEvent(tenant));
      await rms.settled(tenant, 3);
      const request = { ...ref, webhookId: ref.id, since, statuses: [DeliveryStatus.DELIVERED], perSecond: 1 };
      const { replay } = await rms.deliveries.replayDeliveries(request);
      // The second call changes nothing.
      const cancel = () => rms.deliveries.cancelReplay({ ...tenant, id: replay?.id ?? '' }, byUser(requestId));
      for (let i = 0; i < 2; i += 1) await cancel();
      return [['replay.canceled', 'Orders', 'ann@example.com', { status: ['running', 'canceled'] }]];
    },
    'DeadLettersService/replayDeadLetters': async (requestId) => {
      await rms.publishRecords({ key: requestId, value: Buffer.from([0xff]), headers: {} });
      const context = { actor: 'operator:alice@laptop', requestId };
      await rms.deadLetters.replayDeadLetters({ selection: { case: 'all', value: true } }, { context });
      return [['dead_letters.replayed', 'dead letters', '', {}]];
    },
    'SecretsService/reencryptSecrets': async (requestId) => {
      const context = { actor: 'operator:alice@laptop', requestId };
      const { nextPageToken } = await rms.secrets.reencryptSecrets({}, { context });
      await rms.secrets.reencryptSecrets({ pageToken: nextPageToken }, { context });
      return [['secrets.reencryption_started', 'webhooks', '', {}]];
    },
    ...Object.fromEntries(
      [
        ...EventsService.methods,
        ...LookupService.methods,
        WebhooksService.method.getWebhook,
        WebhooksService.method.listWebhooks,
        WebhooksService.method.countWebhooks,
        WebhooksService.method.batchGetWebhookHealth,
        WebhooksService.method.testFilter,
        DeadLettersService.method.listDeadLetters,
        DeliveriesService.method.listDeliveries,
        DeliveriesService.method.getDelivery,
        DeliveriesService.method.getReplay,
        DeliveriesService.method.listReplays,
        DeliveriesService.method.countUnfinishedDeliveries,
        DeliveriesService.method.countDeliveries,
        DeliveriesService.method.tailDeliveries,
      ].map(({ parent, localName }) => [`${parent.name}/${localName}`, undefined]),
    ),
  };

  testAuditedCases(services, cases, () => rms.database.pool);

  test('say when the service disabled a webhook, with the request that caused the delivery', async () => {
    const tenant = newTenant();
    const { id } = await create(tenant);
    receiver.respondWith(410);
    const event = newEvent(tenant);
    await rms.publish(event);
    const entries = await waitUntil(
      async () => {
        const found = await readAudited(rms.database.pool, event.requestId);
        return found.length > 0 && found;
      },
      { what: 'the entry' },
    );
    const changes = { status: ['active', 'disabled'], disable_reason: [null, 'gone'] };
    expect(entries).toEqual([['webhook.disabled', 'Orders', '', changes]]);
    const { rows } = await rms.database.pool.query('select actor from audit.entries where request_id = $1', [
      event.requestId,
    ]);
    expect(rows).toEqual([{ actor: 'system' }]);
    expect((await rms.webhooks.getWebhook({ ...tenant, id })).webhook?.disableReason).toBe('gone');
  });

  test('of concurrent updates form a chain: each begins with the values with which the previous one ended', async () => {
    const ref = await create(newTenant(), { description: 'd0' });
    const updates = Array.from({ length: 10 }, (_, i) => ({ ...ref, description: `d${i + 1}` }));
    await Promise.all(updates.map((update) => rms.webhooks.updateWebhook(update)));
    const chain = await auditedChain(rms.database.pool, ref.id, 'description');
    const { webhook } = await rms.webhooks.getWebhook(ref);
    expect([chain.length, chain.at(-1)]).toEqual([12, webhook?.description]);
  });

  test('contain no secret', async () => {
    expect(secrets.size).toBeGreaterThan(10);
    expect(await auditedSecrets(rms.database.pool, secrets)).toEqual([]);
  });
});
