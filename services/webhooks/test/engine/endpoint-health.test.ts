import { createQueue } from '@rms/postgres/db';
import { createLogger } from '@rms/runtime/logging';
import { perSuite, testDatabase, waitUntil } from '@rms/testkit';
import { createEndings } from '../../src/engine/record/endings.ts';
import { createEndpointHealth } from '../../src/engine/record/endpoint-health.ts';
import { migrations } from '../../src/migrations.ts';
import { responded, stepsOn } from '../leases.ts';
import { newEvent, newTenant } from '../support.ts';

const minuteMs = 60_000;

describe('the failing_since time of a webhook', () => {
  const database = perSuite(() => testDatabase([migrations]));

  /** The database, with a hook that runs before each transaction. */
  const watched = (before: () => void) =>
    ({
      query: database.pool.query,
      connect: async () => {
        before();
        return database.pool.connect();
      },
    }) as unknown as typeof database.pool;
  const start = async () => {
    const tenant = newTenant();
    const steps = stepsOn(database.pool);
    const id = await steps.subscribe(tenant);
    const [job] = await steps.store([newEvent(tenant)], 1);
    const clock = { nowMs: 1_000_000 };
    const log = createLogger({ name: 'test', level: 'silent' });
    const health = (pool = database.pool) =>
      createEndpointHealth({
        pool,
        endings: createEndings(pool),
        queues: { notices: createQueue(), operational: createQueue() },
        log,
        disableAfterHours: 1,
        now: () => clock.nowMs,
      });
    const attempt = (instance: ReturnType<typeof health>, statusCode: number) => {
      const { settlement, job: attempted } = responded(job, statusCode);
      return instance.note(attempted, settlement, false);
    };
    const since = async () => {
      const { rows } = await database.pool.query('select failing_since from webhooks.webhooks where id = $1', [id]);
      return rows[0].failing_since as Date | null;
    };
    return { id, clock, health, attempt, since };
  };

  test('is the first failure after the last success', async () => {
    const { health, attempt, since } = await start();
    const one = health();
    await attempt(one, 200);
    expect(await since()).toBeNull();
    await attempt(one, 500);
    const first = await since();
    expect(first).not.toBeNull();
    await attempt(one, 500);
    expect(await since()).toEqual(first);
    await attempt(one, 200);
    expect(await since()).toBeNull();
  });

  test('a success at one instance clears the time written by another instance within a minute', async () => {
    const { clock, health, attempt, since } = await start();
    const [one, other] = [health(), health()];
    await attempt(one, 200);
    await attempt(other, 500);
    expect(await since()).not.toBeNull();
    // The other instance gets no more deliveries of this webhook.
    clock.nowMs += minuteMs + 1;
    await attempt(one, 200);
    expect(await since()).toBeNull();
  });

  test('is written again if the owner enables the webhook and it keeps failing', async () => {
    const { id, clock, health, attempt, since } = await start();
    const one = health();
    await attempt(one, 500);
    await database.pool.query('update webhooks.webhooks set failing_since = null where id = $1', [id]);
    clock.nowMs += minuteMs + 1;
    await attempt(one, 500);
    expect(await since()).not.toBeNull();
  });

  test('is written after the next attempt if a write failed', async () => {
    const { health, attempt, since } = await start();
    const queries = { count: 0 };
    const one = health(
      watched(() => {
        queries.count += 1;
        if (queries.count === 1) throw new Error('unavailable');
      }),
    );
    await attempt(one, 500);
    expect(await since()).toBeNull();
    await attempt(one, 500);
    expect(await since()).not.toBeNull();
    const written = queries.count;
    await attempt(one, 500);
    expect(queries.count).toBe(written);
  });

  test('is written while the webhook of another workspace is locked', async () => {
    const [one, other] = [await start(), await start()];
    const instance = one.health();
    const holder = await database.pool.connect();
    await holder.query('begin');
    await holder.query('select from webhooks.webhooks where id = $1 for update', [one.id]);
    const blocked = one.attempt(instance, 500);
    await waitUntil(
      async () => {
        const { rowCount } = await database.pool.query(
          `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
        );
        return rowCount === 1;
      },
      { what: 'the first note to wait' },
    );
    await other.attempt(instance, 500);
    expect(await other.since()).not.toBeNull();
    await holder.query('rollback');
    holder.release();
    await blocked;
    expect(await one.since()).not.toBeNull();
  });
});
