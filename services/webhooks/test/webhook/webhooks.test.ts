import { newId } from '@rms/base/ids';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { perSuite } from '@rms/testkit';
import { newEvent, newTenant, startWebhooks, type Tenant } from '../support.ts';

const url = 'http://127.0.0.1:65535/hook';

describe('webhooks', () => {
  const rms = perSuite(startWebhooks);

  const make = async (tenant: Tenant, more: object = {}) =>
    rms.webhooks.createWebhook({ ...tenant, url, events: ['*'], ...more });

  test('a new webhook is active, and its secret is returned only at creation', async () => {
    const tenant = newTenant();
    const { webhook, secret } = await make(tenant, { events: ['resource.created'] });
    expect(webhook).toMatchObject({ url, events: ['resource.created'], status: WebhookStatus.ACTIVE });
    expect(secret).toMatch(/^whsec_/);
    const { rows } = await rms.database.pool.query('select * from webhooks.webhooks where workspace_id = $1', [
      tenant.workspaceId,
    ]);
    expect(JSON.stringify(rows)).not.toContain(secret.slice(6, 20));
    expect(rows[0].secret_sealed.includes(Buffer.from(secret))).toBe(false);
  });

  test.each([
    [[], 'events'],
    [['*', 'resource.created'], 'events'],
    [['resource.created', 'resource.created'], 'events'],
    [['resource.exploded'], 'events.0'],
    [['resource.created', ''], 'events.1'],
  ])('events %j are rejected', async (events, field) => {
    await expect(make(newTenant(), { events })).rejects.toMatchObject({
      code: 'invalid_request',
      details: [{ field, message: expect.any(String) }],
    });
  });

  test('a replay contains the secret only for the key that created the webhook', async () => {
    const { workspaceId, environment } = newTenant();
    const create = async (keyId: string) => {
      const context = { requestId: newId('req'), principal: { workspaceId, environment, keyId, scope: Scope.ADMIN } };
      const requested = { workspaceId, environment, url, events: ['*'], idempotencyKey: 'k' };
      const { webhook, ...response } = await rms.webhooks.createWebhook(requested, { context });
      return { ...response, id: webhook?.id };
    };
    const created = await create('key_1');
    expect(created).toMatchObject({ secret: expect.stringMatching(/^whsec_/), replayed: false, createdBy: '' });
    expect(await create('key_2')).toEqual({ ...created, secret: '', replayed: true });
    expect(await create('key_1')).toEqual({ ...created, replayed: true });
  });

  test('requests with the same idempotency key create one webhook, and every response has the secret', async () => {
    const tenant = newTenant();
    const responses = await Promise.all(Array.from({ length: 20 }, () => make(tenant, { idempotencyKey: 'k' })));
    expect(new Set(responses.map(({ webhook, secret }) => `${webhook?.id} ${secret}`)).size).toBe(1);
    expect(responses.filter(({ replayed }) => !replayed)).toHaveLength(1);
    await expect(make(tenant, { idempotencyKey: 'k', events: ['resource.deleted'] })).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    });
    const { totalSize } = await rms.webhooks.listWebhooks({ ...tenant, pageSize: 10 });
    expect(totalSize).toBe(1n);
  });

  test('an update changes only the given fields', async () => {
    const tenant = newTenant();
    const { webhook } = await make(tenant);
    const id = webhook?.id ?? '';
    const changed = await rms.webhooks.updateWebhook({ ...tenant, id, events: { types: ['resource.deleted'] } });
    expect(changed.webhook).toMatchObject({ url, events: ['resource.deleted'], status: WebhookStatus.ACTIVE });
    const disabled = await rms.webhooks.updateWebhook({ ...tenant, id, status: WebhookStatus.DISABLED });
    expect(disabled.webhook).toMatchObject({ status: WebhookStatus.DISABLED, disableReason: 'manual' });
    await rms.publish(newEvent(tenant, 'resource.deleted'));
    expect(await rms.list(tenant)).toMatchObject([{ status: DeliveryStatus.SKIPPED, attempts: [] }]);
    const enabled = await rms.webhooks.updateWebhook({ ...tenant, id, status: WebhookStatus.ACTIVE });
    expect(enabled.webhook).toMatchObject({ status: WebhookStatus.ACTIVE, disableReason: '' });
    await expect(rms.webhooks.updateWebhook({ ...tenant, id, url: 'https://10.0.0.1/' })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  describe('the rate limit', () => {
    const none = { maxConcurrency: 32, requestsPerSecond: 0 };
    const read = async (tenant: Tenant, id: string) => {
      const { webhook } = await rms.webhooks.getWebhook({ ...tenant, id });
      return webhook?.rateLimit;
    };

    test('of a new webhook is 32 concurrent attempts without a limit per second, unless set', async () => {
      const tenant = newTenant();
      const created: unknown[] = [];
      for (const rateLimit of [undefined, {}, { requestsPerSecond: 0.01 }, { maxConcurrency: 1 }]) {
        const { webhook } = await make(tenant, { rateLimit });
        expect(await read(tenant, webhook?.id ?? '')).toEqual(webhook?.rateLimit);
        created.push(webhook?.rateLimit);
      }
      expect(created).toMatchObject([none, none, { ...none, requestsPerSecond: 0.01 }, { ...none, maxConcurrency: 1 }]);
    });

    test('keeps the fields that an update omits, and 0 removes the limit per second', async () => {
      const tenant = newTenant();
      const { webhook } = await make(tenant);
      const id = webhook?.id ?? '';
      for (const [rateLimit, expected] of [
        [{ requestsPerSecond: 2.5 }, { maxConcurrency: 32, requestsPerSecond: 2.5 }],
        [{ maxConcurrency: 1_000 }, { maxConcurrency: 1_000, requestsPerSecond: 2.5 }],
        [{}, { maxConcurrency: 1_000, requestsPerSecond: 2.5 }],
        [undefined, { maxConcurrency: 1_000, requestsPerSecond: 2.5 }],
        [{ requestsPerSecond: 10_000 }, { maxConcurrency: 1_000, requestsPerSecond: 10_000 }],
        [{ requestsPerSecond: 0 }, { maxConcurrency: 1_000, requestsPerSecond: 0 }],
      ] as const) {
        const updated = await rms.webhooks.updateWebhook({ ...tenant, id, ...(rateLimit ? { rateLimit } : {}) });
        expect(updated.webhook?.rateLimit).toMatchObject(expected);
        expect(await read(tenant, id)).toMatchObject(expected);
      }
    });

    test.each([
      [{ maxConcurrency: 0 }, 'max_concurrency'],
      [{ maxConcurrency: 1_001 }, 'max_concurrency'],
      [{ requestsPerSecond: 0.009 }, 'requests_per_second'],
      [{ requestsPerSecond: -1 }, 'requests_per_second'],
      [{ requestsPerSecond: 10_000.5 }, 'requests_per_second'],
      [{ requestsPerSecond: Number.NaN }, 'requests_per_second'],
      [{ requestsPerSecond: Number.POSITIVE_INFINITY }, 'requests_per_second'],
    ])('%j is rejected', async (rateLimit, field) => {
      const tenant = newTenant();
      const { webhook } = await make(tenant);
      const id = webhook?.id ?? '';
      const refused = {
        code: 'invalid_request',
        details: [{ field: `rate_limit.${field}`, message: expect.anything() }],
      };
      await expect(make(tenant, { rateLimit })).rejects.toMatchObject(refused);
      await expect(rms.webhooks.updateWebhook({ ...tenant, id, rateLimit })).rejects.toMatchObject(refused);
      expect(await read(tenant, id)).toMatchObject(none);
    });

    test('is part of the content that a repetition with an idempotency key must have', async () => {
      const tenant = newTenant();
      const first = await make(tenant, { idempotencyKey: 'k', rateLimit: { requestsPerSecond: 1 } });
      const again = await make(tenant, { idempotencyKey: 'k', rateLimit: { requestsPerSecond: 1 } });
      expect([again.replayed, again.webhook]).toEqual([true, first.webhook]);
      for (const rateLimit of [undefined, { requestsPerSecond: 2 }, { requestsPerSecond: 1, maxConcurrency: 1 }]) {
        await expect(make(tenant, { idempotencyKey: 'k', rateLimit })).rejects.toMatchObject({
          code: 'idempotency_key_reused',
        });
      }
    });
  });

  test('a rotation returns a new secret', async () => {
    const tenant = newTenant();
    const { webhook, secret } = await make(tenant);
    const rotated = await rms.webhooks.rotateSecret({ ...tenant, id: webhook?.id ?? '' });
    expect(rotated.secret).toMatch(/^whsec_/);
    expect(rotated.secret).not.toBe(secret);
  });

  test('webhooks are listed newest first, in pages, in both directions', async () => {
    const tenant = newTenant();
    const ids: string[] = [];
    for (let i = 0; i < 5; i += 1) ids.unshift((await make(tenant)).webhook?.id ?? '');
    const first = await rms.webhooks.listWebhooks({ ...tenant, pageSize: 3 });
    expect(first.webhooks.map(({ id }) => id)).toEqual(ids.slice(0, 3));
    expect(first).toMatchObject({ totalSize: 5n, page: 1, previousPageToken: '' });
    const second = await rms.webhooks.listWebhooks({ ...tenant, pageSize: 3, pageToken: first.nextPageToken });
    expect(second.webhooks.map(({ id }) => id)).toEqual(ids.slice(3));
    expect(second).toMatchObject({ page: 2, nextPageToken: '' });
    const back = await rms.webhooks.listWebhooks({ ...tenant, pageSize: 3, pageToken: second.previousPageToken });
    expect(back.webhooks.map(({ id }) => id)).toEqual(ids.slice(0, 3));
  });

  test('a call cannot access a webhook of another workspace or environment', async () => {
    const tenant = newTenant();
    const { webhook } = await make(tenant);
    const id = webhook?.id ?? '';
    for (const other of [newTenant(), { ...tenant, environment: Environment.SANDBOX }]) {
      const notFound = { code: 'not_found' };
      await expect(rms.webhooks.getWebhook({ ...other, id })).rejects.toMatchObject(notFound);
      await expect(rms.webhooks.updateWebhook({ ...other, id, url })).rejects.toMatchObject(notFound);
      await expect(rms.webhooks.rotateSecret({ ...other, id })).rejects.toMatchObject(notFound);
      await expect(rms.webhooks.testWebhook({ ...other, id })).rejects.toMatchObject(notFound);
      await expect(rms.webhooks.deleteWebhook({ ...other, id })).rejects.toMatchObject(notFound);
      expect((await rms.webhooks.listWebhooks({ ...other, pageSize: 10 })).webhooks).toEqual([]);
    }
    expect((await rms.webhooks.getWebhook({ ...tenant, id })).webhook?.id).toBe(id);
  });
});
