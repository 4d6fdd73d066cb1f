import { listAudit } from '@rms/postgres/audit';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { disposable, perSuite, startReceiver, waitUntil } from '@rms/testkit';
import { newEvent, newTenant, startWebhooks } from './support.ts';

describe('The audit log of webhooks', () => {
  const rms = perSuite(startWebhooks);

  test('records actor, address and request of every create, update, rotation, test, replay and delete, but never the secret', async () => {
    const tenant = newTenant();
    const principal = { ...tenant, keyId: 'key_1', scope: 3 };
    const byKey = { context: { requestId: 'req_1', principal, clientAddress: '192.0.2.1' } };
    const byOperator = { context: { requestId: 'req_2', actor: 'operator:alice@laptop' } };
    const { webhook, secret } = await rms.webhooks.createWebhook(
      { ...tenant, url: 'http://127.0.0.1:65535/', events: ['*'] },
      byKey,
    );
    const ref = { ...tenant, id: webhook?.id ?? '' };
    await rms.webhooks.updateWebhook({ ...ref, description: 'Orders' }, byKey);
    const rotated = await rms.webhooks.rotateSecret(ref, byOperator);
    await rms.webhooks.testWebhook(ref, byOperator);
    await rms.deliveries.replayDeliveries({ ...tenant, webhookId: ref.id, since: { seconds: 0n } }, byOperator);
    await rms.webhooks.deleteWebhook(ref, byOperator);

    const entries = await listAudit(rms.database.pool, {
      workspaceId: tenant.workspaceId,
      targetId: '',
      action: '',
      since: undefined,
      start: undefined,
      limit: 100,
    });
    expect(
      entries.map(({ actor, address, action, targetId, requestId }) => [actor, address, action, targetId, requestId]),
    ).toEqual([
      ['operator:alice@laptop', '', 'webhook.deleted', ref.id, 'req_2'],
      ['operator:alice@laptop', '', 'deliveries.replayed', ref.id, 'req_2'],
      ['operator:alice@laptop', '', 'webhook.tested', ref.id, 'req_2'],
      ['operator:alice@laptop', '', 'webhook.secret_rotated', ref.id, 'req_2'],
      ['key:key_1', '192.0.2.1', 'webhook.updated', ref.id, 'req_1'],
      ['key:key_1', '192.0.2.1', 'webhook.created', ref.id, 'req_1'],
    ]);
    expect(JSON.stringify(entries)).not.toContain(secret.slice(6));
    expect(JSON.stringify(entries)).not.toContain(rotated.secret.slice(6));
  });

  test('names the user who tested a webhook and the user who resent a delivery', async () => {
    const tenant = newTenant();
    await using receiver = disposable(await startReceiver());
    const byUser = { context: { requestId: 'req_3', actor: 'user:usr_1', clientAddress: '192.0.2.7' } };
    const { id } = await rms.subscribe(tenant, receiver.url);
    await rms.webhooks.testWebhook({ ...tenant, id }, byUser);
    await rms.publish(newEvent(tenant));
    const [delivery] = await waitUntil(
      async () => {
        const found = await rms.list(tenant, { status: DeliveryStatus.DELIVERED, test: false });
        return found.length === 1 && found;
      },
      { what: 'the delivery' },
    );
    await rms.deliveries.redeliverDelivery({ ...tenant, id: delivery?.id ?? '' }, byUser);
    await expect(rms.deliveries.redeliverDelivery({ ...tenant, id: 'dlv_none' }, byUser)).rejects.toThrow();
    const { rows } = await rms.database.pool.query(
      `select actor, address, request_id, environment, action, target_id, details from audit.entries
          where workspace_id = $1 and actor <> 'system' order by id`,
      [tenant.workspaceId],
    );
    const by = { actor: 'user:usr_1', address: '192.0.2.7', request_id: 'req_3', environment: 'live' };
    expect(rows).toMatchObject([
      {
        ...by,
        action: 'webhook.tested',
        target_id: id,
        details: { event_type: 'resource.created' },
      },
      { ...by, action: 'delivery.redelivered', target_id: delivery?.id, details: { webhook_id: id } },
    ]);
  });

  test('a rejected or failed change leaves no entry', async () => {
    const tenant = newTenant();
    await expect(rms.webhooks.deleteWebhook({ ...tenant, id: 'wh_none' })).rejects.toMatchObject({ code: 'not_found' });
    await expect(rms.webhooks.createWebhook({ ...tenant, url: 'ftp://x', events: ['*'] })).rejects.toThrow();
    const { rowCount } = await rms.database.pool.query('select from audit.entries where workspace_id = $1', [
      tenant.workspaceId,
    ]);
    expect(rowCount).toBe(0);
  });
});
