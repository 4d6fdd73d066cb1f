import { migrations as audit } from '@rms/postgres/audit';
import { createLogger } from '@rms/runtime/logging';
import { perSuite, testDatabase, waitUntil } from '@rms/testkit';
import { batchFairly } from '../../src/engine/record/fair-batches.ts';
import { createRecorder } from '../../src/engine/record/recorder.ts';
import { migrations } from '../../src/migrations.ts';
import { responded, stepsOn } from '../leases.ts';
import { newEvent, newTenant } from '../support.ts';

interface Item {
  readonly lane: string;
  readonly number: number;
  readonly bytes: number;
}

describe('fair batches', () => {
  /** Starts batches that end when `end` is called with their index. */
  const start = (limits: { maxInFlight: number; maxBatch: number; maxBytes: number }) => {
    const batches: Item[][] = [];
    const ends: ((error?: Error) => void)[] = [];
    const send = batchFairly(
      (items: Item[]) =>
        new Promise<readonly number[]>((resolve, reject) => {
          batches.push(items);
          ends.push((error) => (error ? reject(error) : resolve(items.map(({ number }) => number))));
        }),
      { laneOf: ({ lane }) => lane, bytesOf: ({ bytes }) => bytes, ...limits },
    );
    const sendAll = (lane: string, count: number, bytes = 1) =>
      Promise.all(Array.from({ length: count }, (_, number) => send({ lane, number, bytes })));
    const namesOf = (i: number) => batches[i]?.map(({ lane, number }) => `${lane}${number}`).join(' ');
    return { batches, ends, sendAll, namesOf };
  };

  test('a lane is in one batch at a time, and another lane is sent meanwhile', async () => {
    const { batches, ends, sendAll, namesOf } = start({ maxInFlight: 2, maxBatch: 2, maxBytes: 100 });
    const large = sendAll('a', 3);
    await waitUntil(() => batches.length === 1, { what: 'the first batch' });
    const small = sendAll('b', 1);
    await waitUntil(() => batches.length === 2, { what: 'the second batch' });
    expect([namesOf(0), namesOf(1)]).toEqual(['a0 a1', 'b0']);
    ends[1]?.();
    await small;
    expect(batches).toHaveLength(2);
    ends[0]?.();
    await waitUntil(() => batches.length === 3, { what: 'the rest' });
    expect(namesOf(2)).toBe('a2');
    ends[2]?.();
    await large;
  });

  test('lanes take turns, and a batch is bounded in bytes', async () => {
    const { batches, ends, sendAll, namesOf } = start({ maxInFlight: 1, maxBatch: 4, maxBytes: 10 });
    const all = [sendAll('a', 4, 4), sendAll('b', 1), sendAll('c', 2)];
    for (let i = 0; i < 2; i += 1) {
      await waitUntil(() => batches.length === i + 1, { what: 'a batch' });
      ends[i]?.();
    }
    await Promise.all(all);
    expect([namesOf(0), namesOf(1), batches.length]).toEqual(['a0 b0 c0 a1', 'c1 a2 a3', 2]);
  });

  test('a failed batch rejects its items, and the remaining items are sent', async () => {
    const { batches, ends, sendAll } = start({ maxInFlight: 1, maxBatch: 1, maxBytes: 10 });
    const [first, second] = [sendAll('a', 1), sendAll('a', 1)];
    await waitUntil(() => batches.length === 1, { what: 'the first batch' });
    ends[0]?.(new Error('refused'));
    await expect(first).rejects.toThrow('refused');
    await waitUntil(() => batches.length === 2, { what: 'the second batch' });
    ends[1]?.();
    await second;
  });
});

describe('the recorder', () => {
  const database = perSuite(() => testDatabase([audit, migrations]));
  const steps = perSuite(() => stepsOn(database.pool));

  test('records the attempts of a tenant while a recording for another tenant is blocked', async () => {
    const [slow, other] = [newTenant(), newTenant()];
    for (const tenant of [slow, other]) await steps.subscribe(tenant);
    const jobs = await steps.store([newEvent(slow), newEvent(other)], 2);
    const jobOf = ({ workspaceId }: typeof slow) => jobs.find((job) => job.workspaceId === workspaceId);
    const recorder = createRecorder({
      pool: database.pool,
      log: createLogger({ name: 'test', level: 'silent' }),
      counters: [],
      onFreed: () => {},
    });
    const holder = await database.pool.connect();
    await holder.query('begin');
    await holder.query('select from webhooks.deliveries where id = $1 for update', [jobOf(slow)?.id]);
    const blocked = recorder.record(responded(jobOf(slow), 200));
    /** Statements that wait for a lock. A statement that was canceled and repeated has another start. */
    const waiting = async () => {
      const { rows } = await database.pool.query(
        `select pid, query_start from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
      );
      return rows;
    };
    try {
      const [first] = await waitUntil(async () => ((await waiting()).length === 1 ? waiting() : undefined), {
        what: 'the first recording to wait',
      });
      await recorder.record(responded(jobOf(other), 200));
      // The recording did not wait for the blocked one's end.
      expect(await waiting()).toEqual([first]);
      expect(await steps.logged(other)).toMatchObject([{ status: 'delivered' }]);
      expect(await steps.logged(slow)).toMatchObject([{ status: 'pending' }]);
    } finally {
      await holder.query('rollback');
      holder.release();
    }
    await blocked;
    expect(await steps.logged(slow)).toMatchObject([{ status: 'delivered' }]);
    recorder.stop();
  });
});
