import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '@rms/base/ids';
import { createSecretBox } from '@rms/base/secrets';
import { makeSecret } from '@rms/base/signature';
import { migrations as audit } from '@rms/postgres/audit';
import { migrate } from '@rms/postgres/db';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { type Receiver, startReceiver, type TestDatabase, testDatabase } from '@rms/testkit';
import { migrations } from '../src/migrations.ts';
import { secretContext } from '../src/secrets/contexts.ts';
import { newEvent, newTenant, startWebhooks, type Tenant, type Webhooks } from './support.ts';

const dayMs = 24 * 3_600_000;

describe('a database of the previous release', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rms-migrations-'));
  let database: TestDatabase;
  let receiver: Receiver;
  let rms: Webhooks;
  beforeAll(async () => {
    database = await testDatabase([]);
    receiver = await startReceiver();
    cpSync(join(migrations.directory, '0001-webhooks.sql'), join(folder, '0001-webhooks.sql'));
    await migrate(database.pool, [audit, { ...migrations, directory: folder }]);
  });
  afterAll(async () => {
    await rms?.stop();
    await receiver?.close();
    await database?.drop();
    rmSync(folder, { recursive: true });
  });

  const insertWebhook = async ({ workspaceId }: Tenant) => {
    const id = newId('wh');
    const context = secretContext({ workspaceId, environment: 'live', webhookId: id });
    const sealed = createSecretBox(Buffer.alloc(32, 1)).seal(makeSecret(), context);
    await database.pool.query(
      `insert into webhooks.webhooks
       values ($1, 'live', $2, $3, '{*}', 'active', null, $4, 1, 5, 10, 100, now(), now())`,
      [workspaceId, id, receiver.url, sealed],
    );
    return id;
  };
  /** Inserts an event from `daysAgo` days ago, with one delivery with attempts that got these status codes. */
  const insertDelivery = async (
    tenant: Tenant,
    webhookId: string,
    status: string,
    daysAgo: number,
    responses: number[],
  ) => {
    const atMs = Date.now() - daysAgo * dayMs;
    const event = { ...newEvent(tenant), id: newId('evt', atMs) };
    const { workspaceId } = tenant;
    await database.pool.query(`insert into webhooks.events values ($1, 'live', $2, $3, $4, 1, $5, '', $6, $7)`, [
      ...[workspaceId, event.id, event.type, event.resourceId, event.requestId, event.body, new Date(atMs)],
    ]);
    const id = `dlv_${event.id.slice(4, 14)}${newId('dlv').slice(-16)}`;
    await database.pool.query(
      `insert into webhooks.deliveries values ($1, 'live', $2, $3, $4, $5, $6, $7, $8, $9, $9, 3, $10, $11)`,
      [
        ...[workspaceId, id, event.id, webhookId, event.type, event.resourceId, event.requestId, status],
        ...[responses.length, status === 'pending' ? new Date() : null, new Date(atMs)],
      ],
    );
    for (const [i, code] of responses.entries()) {
      await database.pool.query(`insert into webhooks.attempts values ($1, 'live', $2, $3, $4, $5, $6, 7, $7)`, [
        ...[
          workspaceId,
          id,
          i + 1,
          new Date(atMs),
          code,
          code === 200 ? '' : `status: ${code}`,
          Buffer.alloc(300, code),
        ],
      ]);
    }
    return { id, event };
  };

  test('is migrated without data loss, and pending deliveries are delivered', async () => {
    const [tenant, other] = [newTenant(), newTenant()];
    const webhookId = await insertWebhook(tenant);
    const old = await insertDelivery(tenant, webhookId, 'delivered', 20, [500, 200]);
    const failed = await insertDelivery(tenant, webhookId, 'failed', 3, [500, 500, 404]);
    const retrying = await insertDelivery(tenant, webhookId, 'pending', 1, [503]);
    const fresh = await insertDelivery(tenant, webhookId, 'pending', 0, []);
    const foreign = await insertDelivery(other, await insertWebhook(other), 'pending', 0, []);

    const [, result] = await migrate(database.pool, [audit, migrations]);
    expect(result?.applied).toContain('0003-queue-log-and-feed.sql');
    const { rows } = await database.pool.query('select id, sequence, due_at <= now() as due from webhooks.deliveries');
    expect(rows.sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual(
      [retrying.id, fresh.id, foreign.id].sort().map((id) => ({ id, sequence: '1', due: true })),
    );

    rms = await startWebhooks({}, { given: database });
    const { events, newestPosition } = await rms.feed.listEvents({ ...tenant, pageSize: 100 });
    expect(events.map(({ id, position }) => [id, position])).toEqual([
      [old.event.id, 1n],
      [failed.event.id, 2n],
      [retrying.event.id, 3n],
      [fresh.event.id, 4n],
    ]);
    expect(events.map(({ body }) => Buffer.from(body))).toEqual(
      [old, failed, retrying, fresh].map(({ event }) => Buffer.from(event.body)),
    );
    expect(newestPosition).toBe(4n);

    await rms.settled(other, 1);
    const log = await rms.settled(tenant, 4);
    expect(log.map(({ id, status, attempts }) => [id, status, attempts.map(({ statusCode }) => statusCode)])).toEqual([
      [fresh.id, DeliveryStatus.DELIVERED, [200]],
      [retrying.id, DeliveryStatus.DELIVERED, [503, 200]],
      [failed.id, DeliveryStatus.FAILED, [500, 500, 404]],
      [old.id, DeliveryStatus.DELIVERED, [500, 200]],
    ]);
    const before = await rms.deliveries.getDelivery({ ...tenant, id: failed.id });
    const attempt = before.delivery?.attempts.at(2);
    expect(attempt).toMatchObject({ number: 3, error: 'status: 404', durationMs: 7 });
    expect(Buffer.from(attempt?.responseBody ?? [])).toEqual(Buffer.alloc(300, 404));
    expect(receiver.requests.map(({ json }) => json.id).sort()).toEqual(
      [fresh, retrying, foreign].map(({ event }) => JSON.parse(event.body.toString()).id).sort(),
    );

    // An event stored before the migration is repeated; the feed continues after the existing events.
    await rms.publish(fresh.event, newEvent(tenant));
    await rms.settled(tenant, 5);
    expect((await rms.feed.listEvents({ ...tenant, pageSize: 100 })).newestPosition).toBe(5n);

    await rms.deliveries.redeliverDelivery({ ...tenant, id: failed.id });
    await rms.settled(tenant, 5);
    const { delivery } = await rms.deliveries.getDelivery({ ...tenant, id: failed.id });
    expect(delivery).toMatchObject({ status: DeliveryStatus.DELIVERED, origin: 'redelivery' });
  });
});
