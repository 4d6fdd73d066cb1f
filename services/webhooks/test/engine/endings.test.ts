import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { perSuite, startReceiver, waitUntil } from '@rms/testkit';
import { newEvent, newTenant, startWebhooks, type Tenant } from '../support.ts';

/** More than the instance's pool has connections. */
const manyWebhooks = 20;

describe('many webhooks of a workspace that end at the same time', () => {
  const rms = perSuite(startWebhooks);
  const receiver = perSuite(startReceiver);

  const subscribe = async (tenant: Tenant) => (await rms.subscribe(tenant, receiver.url)).id;
  const subscribeMany = (tenant: Tenant) => Promise.all(Array.from({ length: manyWebhooks }, () => subscribe(tenant)));
  /** Locks a table against writes while `work` runs, so that statements that write to it take as long as `work`. */
  const whileLocked = async (table: string, work: () => Promise<void>) => {
    const tx = await rms.database.pool.connect();
    try {
      await tx.query(`begin; lock table ${table} in exclusive mode`);
      await work();
    } finally {
      await tx.query('rollback');
      tx.release();
    }
  };
  const waitingFor = async (table: string) => {
    const { rows } = await rms.database.pool.query<{ count: number }>(
      'select count(*)::integer as count from pg_locks where relation = $1::regclass and not granted',
      [table],
    );
    return rows[0]?.count ?? 0;
  };
  const statusesOf = async (tenant: Tenant) => {
    const { webhooks } = await rms.webhooks.listWebhooks({ ...tenant, pageSize: 100 });
    return webhooks.map(({ status }) => status);
  };

  test('because their endpoints are gone: calls for another workspace get a connection', async () => {
    const [tenant, other] = [newTenant(), newTenant()];
    await subscribeMany(tenant);
    const id = await subscribe(other);
    receiver.respondWith(500);
    // The failures are noted, so that the next ones only disable the webhooks.
    await rms.publish(newEvent(tenant));
    await waitUntil(() => receiver.requests.length === manyWebhooks, { what: 'the first attempts' });
    await waitUntil(
      async () => {
        const { rows } = await rms.database.pool.query(
          'select from webhooks.webhooks where workspace_id = $1 and failing_since is null limit 1',
          [tenant.workspaceId],
        );
        return rows.length === 0;
      },
      { what: 'the failures to be noted' },
    );
    receiver.respondWith(410);
    await whileLocked('webhooks.notices', async () => {
      await rms.publish(newEvent(tenant));
      await waitUntil(() => receiver.requests.length === 2 * manyWebhooks, { what: 'the second attempts' });
      await waitUntil(async () => (await waitingFor('webhooks.notices')) > 0, { what: 'a webhook to be disabled' });
      expect(await rms.webhooks.getWebhook({ ...other, id })).toMatchObject({ webhook: { id } });
    });
    await waitUntil(async () => (await statusesOf(tenant)).every((status) => status === WebhookStatus.DISABLED), {
      what: 'all webhooks to be disabled',
    });
  });

  test('with queued deliveries: calls for another workspace get a connection', async () => {
    const [tenant, other] = [newTenant(), newTenant()];
    const ids = await subscribeMany(tenant);
    const id = await subscribe(other);
    receiver.respondWith(500);
    await rms.publish(newEvent(tenant));
    const unfinished = async () => {
      const { rows } = await rms.database.pool.query<{ tries: number }>(
        'select tries from webhooks.deliveries where webhook_id = any($1)',
        [ids],
      );
      return rows.map(({ tries }) => tries);
    };
    await waitUntil(async () => (await unfinished()).filter((tries) => tries === 1).length === manyWebhooks, {
      what: 'the first attempts to be recorded',
    });
    await whileLocked('webhooks.delivery_log', async () => {
      await rms.database.pool.query(`update webhooks.webhooks set status = 'disabled' where id = any($1)`, [ids]);
      await rms.database.pool.query(
        'update webhooks.endpoints set next_due_at = now(), not_before = null, pause_ms = 0 where webhook_id = any($1)',
        [ids],
      );
      await waitUntil(async () => (await waitingFor('webhooks.delivery_log')) > 0, { what: 'deliveries to be ended' });
      expect(await rms.webhooks.getWebhook({ ...other, id })).toMatchObject({ webhook: { id } });
    });
    await waitUntil(async () => (await unfinished()).length === 0, { what: 'all deliveries to be ended' });
  });
});
