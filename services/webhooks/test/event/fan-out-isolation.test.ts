import type { Pool } from '@rms/postgres/db';
import { perTest } from '@rms/testkit';
import type { DeliveryJob } from '../../src/engine/attempt/job.ts';
import { insertingLetters } from '../../src/event/dead-letter-queries.ts';
import { createEventStore } from '../../src/event/event-store.ts';
import { arrivalOf, stepsOn, unknown } from '../leases.ts';
import { newEvent, newEvents, newTenant, type Tenant, toRecord, webhooksDatabase } from '../support.ts';

/** SQLSTATE of a statement that exceeds its time limit. */
const statementTimeout = '57014';

describe('storing the events of several tenants', () => {
  const database = perTest(webhooksDatabase);
  const steps = perTest(() => stepsOn(database.pool));

  /** Returns a store, and the job tenants that each of its transactions created. */
  const startStore = () => {
    const transactions: string[][] = [];
    const pool = new Proxy(database.pool, {
      get(target, name) {
        if (name === 'connect') transactions.push([]);
        const value = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    }) as Pool;
    const engine = {
      freeCapacity: () => ({ ...unknown, total: 100 }),
      deliver: (jobs: readonly DeliveryJob[]) =>
        void transactions.at(-1)?.push(...jobs.map(({ workspaceId }) => workspaceId)),
      wakeFor() {},
    };
    const idle = { wake() {} };
    const time = { nowMs: () => Date.now() };
    const metrics = { fannedOut() {}, filtered: { inc() {} } as never };
    let nowMs = 0;
    const workers = { engine, watchers: idle, deferred: idle, usage: { countMade() {} } };
    const store = createEventStore({ pool, topic: 't', ...workers, time, metrics, now: () => nowMs });
    const failedOf = async (events: readonly ReturnType<typeof newEvent>[]) => [
      ...(await store(events.map(arrivalOf))).failed.keys(),
    ];
    const endPauses = () => {
      nowMs += 2_000;
    };
    const parkedOf = async (events: readonly ReturnType<typeof newEvent>[]) => [
      ...(await store(events.map(arrivalOf))).parked.keys(),
    ];
    return { failedOf, parkedOf, transactions, endPauses };
  };
  const storedOf = async ({ workspaceId }: Tenant) => {
    const { rows } = await database.pool.query<{ id: string }>(
      'select id from webhooks.events where workspace_id = $1 order by position',
      [workspaceId],
    );
    return rows.map(({ id }) => id);
  };
  /** Locks a tenant's feed until the returned function is called. */
  const lockFeed = async ({ workspaceId }: Tenant) => {
    const holder = await database.pool.connect();
    await holder.query('begin');
    await holder.query('select from webhooks.feeds where workspace_id = $1 for update', [workspaceId]);
    return async () => {
      await holder.query('rollback');
      holder.release();
    };
  };

  test('a call stores the events of all tenants except the one whose events cannot be stored', async () => {
    const { failedOf, transactions } = startStore();
    const [stuck, together, later] = [newTenant(), newTenant(), newTenant()];
    await steps.store([newEvent(stuck)]);
    const unlock = await lockFeed(stuck);
    const [blocked, free] = [newEvent(stuck), newEvent(together)];
    expect(await failedOf([blocked, free])).toEqual([blocked.id]);
    expect(await storedOf(together)).toEqual([free.id]);

    // The next call tries the tenant after the others, in a separate statement, or not at all while it pauses.
    await steps.subscribe(later);
    transactions.length = 0;
    expect(await failedOf([blocked, newEvent(later)])).toEqual([blocked.id]);
    expect(transactions[0]).toEqual([later.workspaceId]);
    await unlock();
  });

  test('the events of a tenant that has failed for ten seconds are parked; those of others are stored', async () => {
    const { failedOf, parkedOf, endPauses } = startStore();
    const [stuck, other] = [newTenant(), newTenant()];
    await steps.store([newEvent(stuck)]);
    const unlock = await lockFeed(stuck);
    const events = [newEvent(stuck), newEvent(stuck)];
    const ids = events.map(({ id }) => id);
    for (let tries = 0; tries < 5; tries += 1) {
      expect(await failedOf(events)).toEqual(ids);
      endPauses();
    }
    const free = newEvent(other);
    expect(await parkedOf([...events, free])).toEqual(ids);
    expect(await storedOf(other)).toEqual([free.id]);
    await unlock();
  });

  test('the events of a tenant with parked records are parked by every instance, however its feed is locked', async () => {
    const [first, second] = [startStore(), startStore()];
    const [tenant, other] = [newTenant(), newTenant()];
    await steps.store([newEvent(tenant)]);
    const record = { ...toRecord(newEvent(tenant)), partition: 0, offset: '0' };
    const letter = { record, event: newEvent(tenant), reason: 'failed', detail: 'locked' } as const;
    const unlock = await lockFeed(tenant);
    // Neither the feed nor another table of the tenant is needed to park a record.
    await database.pool.query(insertingLetters('topic', [letter]));
    const [event, free] = [newEvent(tenant), newEvent(other)];
    // The first call must find out that the tenant is locked.
    expect(await first.failedOf([event, free])).toEqual([event.id]);
    expect(await first.parkedOf([event])).toEqual([event.id]);
    await unlock();
    expect(await second.parkedOf([event])).toEqual([event.id]);
    await database.pool.query('update webhooks.dead_letters set parked = false');
    expect(await second.parkedOf([event])).toEqual([]);
    expect(await storedOf(tenant)).toHaveLength(2);
  });

  test('a tenant whose statement exceeds the time limit is stored in smaller statements', async () => {
    const { failedOf, endPauses } = startStore();
    const tenant = newTenant();
    await database.pool.query(
      `create function webhooks.limit_events() returns trigger language plpgsql as $$
       begin
         if (select count(*) from added) > 100 then
           raise exception 'too slow' using errcode = '${statementTimeout}';
         end if;
         return null;
       end $$;
       create trigger limit_events after insert on webhooks.events
         referencing new table as added for each statement execute function webhooks.limit_events();`,
    );
    const events = newEvents(tenant, 450);
    const failedByTry: number[] = [];
    for (let tries = 0; tries < 4; tries += 1) {
      failedByTry.push((await failedOf(events)).length);
      endPauses();
    }
    // All 450 events, then 450, 250 and 125 events per statement; 62 are few enough.
    expect(failedByTry).toEqual([450, 450, 450, 0]);
    expect(await storedOf(tenant)).toEqual(events.map(({ id }) => id));
  });

  test('later events of a tenant do not overtake its failed ones within a call', async () => {
    const { failedOf } = startStore();
    const [tenant, other] = [newTenant(), newTenant()];
    const poison = newEvent(tenant);
    await database.pool.query(
      `create function webhooks.reject_event() returns trigger language plpgsql as $$
       begin
         if new.id = '${poison.id}' then raise exception 'too slow' using errcode = '${statementTimeout}'; end if;
         return new;
       end $$;
       create trigger reject_event before insert on webhooks.events
         for each row execute function webhooks.reject_event();`,
    );
    const fill = newEvents(other, 500);
    const late = newEvent(tenant);
    expect(await failedOf([poison, ...fill, late])).toEqual([poison.id, late.id]);
    expect(await storedOf(tenant)).toEqual([]);
    expect(await storedOf(other)).toHaveLength(500);
  });
});
