import { createLogger } from '@rms/service';
import { type TestDatabase, testDatabase, waitUntil } from '@rms/testkit';
import { createEndpointHealth } from '../src/delivery/endpoint-health.ts';
import type { Outcome } from '../src/delivery/endpoint-queue.ts';
import { migrations } from '../src/migrations.ts';
import { answered, stepsOn } from './leases.ts';
import { newEvent, newTenant } from './support.ts';

const minuteMs = 60_000;

describe('since when a webhook fails', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase([migrations]);
  });
  afterAll(() => database?.drop());

  /** The database, with something done before each query. */
  const watched = (before: () => void) =>
    ({
      query: async (query: never) => {
        before();
        return database.pool.query(query);
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
      createEndpointHealth({ pool, log, disableAfterHours: 1, now: () => clock.nowMs });
    const attempt = (instance: ReturnType<typeof health>, statusCode: number) => {
      const { settlement, job: attempted } = answered(job, statusCode);
      return instance.note(attempted, settlement);
    };
    const since = async () => {
      const { rows } = await database.pool.query('select failing_since from webhooks.webhooks where id = $1', [id]);
      return rows[0].failing_since as Date | null;
    };
    /** What a queue answers after an attempt. */
    const circuit = (instance: ReturnType<typeof health>, ended: Outcome['health'], isOpen: boolean) => {
      if (job) instance.noteCircuit(job, { health: ended, isOpen });
    };
    const openSince = async () => {
      const { rows } = await database.pool.query('select circuit_open_since from webhooks.webhooks where id = $1', [
        id,
      ]);
      return rows[0].circuit_open_since as Date | null;
    };
    const isOpen = (open: boolean) =>
      waitUntil(async () => ((await openSince()) !== null) === open || undefined, { what: `circuit open: ${open}` });
    return { id, clock, health, attempt, since, circuit, openSince, isOpen };
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

  test('a success at one instance clears what another one has written, within a minute', async () => {
    const { clock, health, attempt, since } = await start();
    const [one, other] = [health(), health()];
    await attempt(one, 200);
    await attempt(other, 500);
    expect(await since()).not.toBeNull();
    // The other one gets no more of its deliveries.
    clock.nowMs += minuteMs + 1;
    await attempt(one, 200);
    expect(await since()).toBeNull();
  });

  test('is noted anew when its owner has enabled it and it goes on failing', async () => {
    const { id, clock, health, attempt, since } = await start();
    const one = health();
    await attempt(one, 500);
    await database.pool.query('update webhooks.webhooks set failing_since = null where id = $1', [id]);
    clock.nowMs += minuteMs + 1;
    await attempt(one, 500);
    expect(await since()).not.toBeNull();
  });

  describe('the circuit', () => {
    test('is open from when it opened until an attempt is answered; probes that fail write nothing', async () => {
      const { attempt, health, circuit, openSince, isOpen } = await start();
      const queries = { count: 0 };
      const one = health(
        watched(() => {
          queries.count += 1;
        }),
      );
      await attempt(one, 500);
      circuit(one, 'failing', true);
      await isOpen(true);
      const since = await openSince();
      const written = queries.count;
      circuit(one, 'failing', true);
      expect(queries.count).toBe(written);
      // It answers, and refuses: that closes it, and the endpoint goes on failing.
      circuit(one, 'refused', false);
      await isOpen(false);
      circuit(one, 'failing', true);
      await isOpen(true);
      expect(await openSince()).not.toEqual(since);
    });

    test('is closed for all by a delivery that arrives anywhere; who leaves it open says so again within a minute', async () => {
      const { clock, attempt, health, circuit, isOpen } = await start();
      const [one, other] = [health(), health()];
      await attempt(one, 500);
      circuit(one, 'failing', true);
      await isOpen(true);
      await attempt(other, 200);
      await isOpen(false);
      clock.nowMs += minuteMs + 1;
      await attempt(one, 500);
      circuit(one, 'failing', true);
      await isOpen(true);
      // Its own closing is written however long ago it opened.
      clock.nowMs += minuteMs + 1;
      circuit(one, 'refused', false);
      await isOpen(false);
    });

    test('that an instance left open which is gone is closed by what the next one sees', async () => {
      const { attempt, health, circuit, isOpen } = await start();
      const [gone, next] = [health(), health()];
      await attempt(gone, 500);
      circuit(gone, 'failing', true);
      await isOpen(true);
      circuit(next, 'refused', false);
      await isOpen(false);
    });

    test('whose change could not be written is written after the next attempt', async () => {
      const { attempt, health, circuit, isOpen } = await start();
      const queries = { count: 0 };
      const one = health(
        watched(() => {
          queries.count += 1;
          if (queries.count === 2) throw new Error('away');
        }),
      );
      await attempt(one, 500);
      await waitUntil(
        async () => {
          circuit(one, 'failing', true);
          return queries.count > 2 || undefined;
        },
        { what: 'another try' },
      );
      await isOpen(true);
    });
  });
});
