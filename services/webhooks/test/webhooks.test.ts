import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { newEvent, newTenant, startWebhooks, type Tenant } from './support.ts';

const url = 'http://127.0.0.1:65535/hook';

describe('webhooks', () => {
  let rms: Awaited<ReturnType<typeof startWebhooks>>;
  beforeAll(async () => {
    rms = await startWebhooks();
  });
  afterAll(() => rms?.stop());

  const make = async (tenant: Tenant, more: object = {}) =>
    rms.webhooks.createWebhook({ ...tenant, url, events: ['*'], ...more });

  test('a webhook is active, and its secret is in the answer to its creation only', async () => {
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
  ])('events %j are refused', async (events, field) => {
    await expect(make(newTenant(), { events })).rejects.toMatchObject({
      code: 'invalid_request',
      details: [{ field, message: expect.any(String) }],
    });
  });

  test('one idempotency key makes one webhook, and each answer has the secret', async () => {
    const tenant = newTenant();
    const answers = await Promise.all(Array.from({ length: 20 }, () => make(tenant, { idempotencyKey: 'k' })));
    expect(new Set(answers.map(({ webhook, secret }) => `${webhook?.id} ${secret}`)).size).toBe(1);
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
    await expect(make(tenant, { idempotencyKey: 'k', events: ['resource.deleted'] })).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    });
    const { totalSize } = await rms.webhooks.listWebhooks({ ...tenant, pageSize: 10 });
    expect(totalSize).toBe(1n);
  });

  test('only what is sent changes', async () => {
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

  test('a rotated secret is another one', async () => {
    const tenant = newTenant();
    const { webhook, secret } = await make(tenant);
    const rotated = await rms.webhooks.rotateSecret({ ...tenant, id: webhook?.id ?? '' });
    expect(rotated.secret).toMatch(/^whsec_/);
    expect(rotated.secret).not.toBe(secret);
  });

  test('webhooks are listed newest first, a page at a time, both ways', async () => {
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

  test('no call reaches a webhook of another workspace or environment', async () => {
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
