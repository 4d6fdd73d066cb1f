import { newId } from '@rms/base/ids';
import type { Pool } from '@rms/postgres/db';
import { createLogger } from '@rms/runtime/logging';
import { perTest, testDatabase } from '@rms/testkit';
import { createErasure } from '../../src/delivery/erasure.ts';
import { recordAttempts } from '../../src/engine/record/recorder.ts';
import { fanOutDeferred } from '../../src/event/deferred-fan-out.ts';
import { fanOut } from '../../src/event/fan-out-queries.ts';
import { migrations } from '../../src/migrations.ts';
import { arrivalOf, responded, stepsOn, unknown } from '../leases.ts';
import { newEvent, newTenant, type Tenant } from '../support.ts';

describe('the erasure of deleted resources', () => {
  const running = new AbortController().signal;
  const log = createLogger({ name: 'webhooks', level: 'fatal' });
  const database = perTest(() => testDatabase([migrations]));
  const steps = perTest(() => stepsOn(database.pool));

  /** Makes events of a resource that is updated `updates` times and then deleted. */
  const eventsOf = (tenant: Tenant, updates: number) => {
    const resourceId = newId('res');
    const types = [...Array.from({ length: updates }, () => 'resource.updated'), 'resource.deleted'];
    return types.map((type) => newEvent(tenant, type, 'thing', resourceId));
  };
  const withBody = async ({ workspaceId }: Tenant) => {
    const { rows } = await database.pool.query<{ count: number }>(
      'select count(*)::integer as count from webhooks.events where workspace_id = $1 and body is not null',
      [workspaceId],
    );
    return rows[0]?.count;
  };

  test('reads and changes a bounded number of rows per statement, however many events a resource has', async () => {
    const tenant = newTenant();
    const events = eventsOf(tenant, 2_100);
    for (let i = 0; i < events.length; i += 500) await steps.store(events.slice(i, i + 500));
    const changed: (number | null | undefined)[] = [];
    const pool = {
      async query(text: string, values: unknown[]) {
        const result = await database.pool.query<{ erased?: number }>(text, values);
        if (text.includes('update')) changed.push(result.rows[0]?.erased ?? result.rowCount);
        return result;
      },
    } as unknown as Pool;
    await createErasure(pool, log)(running);
    expect(changed).toEqual([1_000, 1_000, 100, 0, 1]);
    expect(await withBody(tenant)).toBe(0);
  });

  test('waits for the deliveries of a resource, and meanwhile erases other resources', async () => {
    const [waiting, other] = [newTenant(), newTenant()];
    await steps.subscribe(waiting);
    const [job] = await steps.store(eventsOf(waiting, 0), 1);
    await steps.store(eventsOf(other, 2));
    const erase = createErasure(database.pool, log);
    await erase(running);
    expect([await withBody(waiting), await withBody(other)]).toEqual([1, 0]);
    await recordAttempts(database.pool, [responded(job, 200)]);
    await erase(running);
    expect(await withBody(waiting)).toBe(0);
  });

  test('waits for the fan-out of deferred events', async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant);
    const arrivals = eventsOf(tenant, 2).map(arrivalOf);
    await fanOut(database.pool, arrivals, { freeCapacity: { ...unknown, total: 0 }, deliveries: 0 });
    const erase = createErasure(database.pool, log);
    await erase(running);
    expect(await withBody(tenant)).toBe(3);
    const step = await fanOutDeferred(database.pool, { ...tenant, environment: 'live' }, () => ({
      ...unknown,
      total: 3,
    }));
    expect(step?.jobs).toHaveLength(3);
    await erase(running);
    expect(await withBody(tenant)).toBe(3);
    await recordAttempts(database.pool, step?.jobs.map((job) => responded(job, 200)) ?? []);
    await erase(running);
    expect(await withBody(tenant)).toBe(0);
  });

  test('of a tenant that fails does not affect the other tenants', async () => {
    const [failing, other] = [newTenant(), newTenant()];
    await steps.store(eventsOf(failing, 1));
    await steps.store(eventsOf(other, 1));
    await database.pool.query(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
      create trigger refuse before update on webhooks.events
        for each row when (new.workspace_id = '${failing.workspaceId}') execute function refuse()`);
    await expect(createErasure(database.pool, log)(running)).rejects.toThrow('refused');
    expect([await withBody(failing), await withBody(other)]).toEqual([2, 0]);
  });

  test('workspaces take turns, however many resources of one were deleted before', async () => {
    const [hostile, other] = [newTenant(), newTenant()];
    const events = Array.from({ length: 1_200 }, () => eventsOf(hostile, 0)).flat();
    for (let i = 0; i < events.length; i += 500) await steps.store(events.slice(i, i + 500));
    await steps.store(eventsOf(other, 0));
    await createErasure(database.pool, log)(running);
    expect([await withBody(hostile), await withBody(other)]).toEqual([1_200 - 499, 0]);
  });
});
