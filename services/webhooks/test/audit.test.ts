import { listAudit } from '@rms/audit';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { newTenant, startWebhooks } from './support.ts';

describe('The audit log of webhooks', () => {
  let rms: Awaited<ReturnType<typeof startWebhooks>>;
  beforeAll(async () => {
    rms = await startWebhooks();
  });
  afterAll(() => rms?.stop());

  test('tells who created, changed, rotated, replayed and deleted, from where, for which request; never the secret', async () => {
    const tenant = newTenant();
    const principal = { ...tenant, keyId: 'key_1', scope: 3 };
    const byKey = { context: { requestId: 'req_1', principal, clientAddress: '192.0.2.1' } };
    const byPerson = { context: { requestId: 'req_2', actor: 'operator:alice@laptop' } };
    const { webhook, secret } = await rms.webhooks.createWebhook(
      { ...tenant, url: 'http://127.0.0.1:65535/', events: ['*'] },
      byKey,
    );
    const ref = { ...tenant, id: webhook?.id ?? '' };
    await rms.webhooks.updateWebhook({ ...ref, status: WebhookStatus.ACTIVE }, byKey);
    const rotated = await rms.webhooks.rotateSecret(ref, byPerson);
    await rms.deliveries.replayDeliveries({ ...tenant, webhookId: ref.id, since: { seconds: 0n } }, byPerson);
    await rms.webhooks.deleteWebhook(ref, byPerson);

    const entries = await listAudit(rms.database.pool, {
      workspaceId: tenant.workspaceId,
      targetId: '',
      action: '',
      since: undefined,
      before: undefined,
      limit: 100,
    });
    expect(
      entries.map(({ actor, address, action, targetId, requestId }) => [actor, address, action, targetId, requestId]),
    ).toEqual([
      ['operator:alice@laptop', '', 'webhook.deleted', ref.id, 'req_2'],
      ['operator:alice@laptop', '', 'deliveries.replayed', ref.id, 'req_2'],
      ['operator:alice@laptop', '', 'webhook.secret_rotated', ref.id, 'req_2'],
      ['key:key_1', '192.0.2.1', 'webhook.updated', ref.id, 'req_1'],
      ['key:key_1', '192.0.2.1', 'webhook.created', ref.id, 'req_1'],
    ]);
    expect(JSON.stringify(entries)).not.toContain(secret.slice(6));
    expect(JSON.stringify(entries)).not.toContain(rotated.secret.slice(6));
  });

  test('a change that is refused or fails leaves no entry', async () => {
    const tenant = newTenant();
    await expect(rms.webhooks.deleteWebhook({ ...tenant, id: 'wh_none' })).rejects.toMatchObject({ code: 'not_found' });
    await expect(rms.webhooks.createWebhook({ ...tenant, url: 'ftp://x', events: ['*'] })).rejects.toThrow();
    const { rowCount } = await rms.database.pool.query('select from audit.entries where workspace_id = $1', [
      tenant.workspaceId,
    ]);
    expect(rowCount).toBe(0);
  });
});
