import { migrations as audit } from '@rms/postgres/audit';
import { createLogger } from '@rms/runtime/logging';
import { perSuite, testDatabase, waitUntil } from '@rms/testkit';
import fc from 'fast-check';
import { createRecorder, type Recording } from '../../src/engine/record/recorder.ts';
import { migrations } from '../../src/migrations.ts';
import { responded, stepsOn } from '../leases.ts';
import { laneOf, newEvent, newTenant, type Tenant } from '../support.ts';
import { createNaiveRecorder } from './naive-recorder.ts';

const recorders = { recorder: createRecorder, 'naive reference': createNaiveRecorder };

/** The results of a tenant's deliveries, by the index of the event; each list in the order of the attempts. */
const aHistory = fc.record({
  ordered: fc.boolean(),
  /** 410 ends a delivery, 500 is retried. */
  statuses: fc.array(fc.constantFrom(200, 410, 500), { minLength: 1, maxLength: 6 }),
  /** Results that are recorded twice, as after a commit with a lost acknowledgement. */
  repeated: fc.array(fc.nat({ max: 5 }), { maxLength: 3 }),
  /** Deliveries whose lease another instance has taken before the result is recorded. */
  outdated: fc.array(fc.nat({ max: 5 }), { maxLength: 2 }),
});

describe.each(Object.keys(recorders) as (keyof typeof recorders)[])('in every history, with the %s', (kind) => {
  const database = perSuite(() => testDatabase([audit, migrations]));
  const steps = perSuite(() => stepsOn(database.pool));
  const startRecorder = (counted: Recording[] = [], freed: string[] = []) =>
    recorders[kind]({
      pool: database.pool,
      log: createLogger({ name: 'test', level: 'silent' }),
      counters: [{ count: (recordings) => counted.push(...recordings) }],
      onFreed: (webhookIds) => freed.push(...webhookIds),
    });
  /** Stores events of different resources, and leases their deliveries. */
  const leased = (tenant: Tenant, count: number) =>
    steps.store(
      Array.from({ length: count }, () => newEvent(tenant)),
      count,
    );

  test('each result is stored and counted once, and decides about its delivery if its lease is current', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(aHistory, { minLength: 1, maxLength: 3 }), async (histories) => {
        await steps.clear();
        const counted: Recording[] = [];
        const recorder = startRecorder(counted);
        const tenants = histories.map(() => newTenant());
        const recordings: Promise<void>[] = [];
        for (const [i, { ordered, statuses, repeated, outdated }] of histories.entries()) {
          const tenant = tenants[i] as Tenant;
          await steps.subscribe(tenant, { ordered });
          const jobs = await leased(tenant, statuses.length);
          const taken = jobs.filter((_, at) => outdated.includes(at)).map(({ id }) => id);
          await database.pool.query('update webhooks.deliveries set lease = lease + 1 where id = any($1)', [taken]);
          const results = jobs.map((job, at) => responded(job, statuses[at] ?? 200));
          const again = repeated.flatMap((at) => results[at] ?? []);
          for (const one of [...results, ...again]) recordings.push(recorder.record(one));
        }
        await Promise.all(recordings);
        recorder.stop();
        for (const [i, { statuses, outdated }] of histories.entries()) {
          const log = await steps.logged(tenants[i] as Tenant);
          const expected = statuses.map((status, at) => {
            if (status === 200) return 'delivered 1';
            if (outdated.includes(at)) return 'pending 1';
            return status === 410 ? 'failed 1' : 'retrying 1';
          });
          expect(log.map(({ status, attempts }) => `${status} ${attempts.length}`).sort()).toEqual(expected.sort());
        }
        const results = histories.map(({ statuses, repeated }) => [
          statuses.length,
          repeated.filter((at) => at < statuses.length).length,
        ]);
        expect(counted).toHaveLength(results.flat().reduce((sum, count) => sum + count, 0));
      }),
      { numRuns: 25 },
    );
  });

  test('the next delivery of a lane becomes due when the previous one ends, and its webhook is reported', async () => {
    const tenant = newTenant();
    const id = await steps.subscribe(tenant, { ordered: true });
    const [first] = await steps.store(laneOf(tenant, 3), 3);
    const freed: string[] = [];
    const recorder = startRecorder([], freed);
    await recorder.record(responded(first, 200));
    recorder.stop();
    expect(freed).toEqual([id]);
    expect(await steps.claim()).toHaveLength(1);
  });

  test('while results cannot be stored it is behind, then it stores each of them once', async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant);
    const jobs = await leased(tenant, 5);
    const recorder = startRecorder();
    await database.pool.query('alter table webhooks.deliveries rename to hidden');
    const recordings = jobs.map((job) => recorder.record(responded(job, 200)));
    await waitUntil(() => recorder.behind() && recorder.waiting() > 0, { what: 'results to wait' });
    await database.pool.query('alter table webhooks.hidden rename to deliveries');
    await recorder.caughtUp();
    await Promise.all(recordings);
    expect([recorder.behind(), recorder.waiting()]).toEqual([false, 0]);
    const log = await steps.logged(tenant);
    expect(log.map(({ status, attempts }) => [status, attempts.length])).toEqual(Array(5).fill(['delivered', 1]));
    recorder.stop();
  });

  test('a stopped recorder rejects the results that it cannot store', async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant);
    const [job] = await leased(tenant, 1);
    const recorder = startRecorder();
    await database.pool.query('alter table webhooks.deliveries rename to hidden');
    const recording = recorder.record(responded(job, 200)).catch(({ code }) => code);
    await waitUntil(() => recorder.behind(), { what: 'the result to wait' });
    recorder.stop();
    await recorder.caughtUp();
    expect(await recording).toBeDefined();
    await database.pool.query('alter table webhooks.hidden rename to deliveries');
    expect(await steps.logged(tenant)).toMatchObject([{ status: 'pending' }]);
  });
});
