import { CallScope, inCall } from '@rms/async';
import { perTest, type TestDatabase, testDatabase, testPool } from '@rms/testkit';
import { inTransaction } from '../../src/db/index.ts';
import { ConnectionShares } from '../../src/db/session-pool.ts';

describe('connections of a pool', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase([]);
  });
  const pool = perTest(() => testPool({ url: database.url, max: 4, applicationName: 'shares', log: { warn() {} } }));
  afterAll(() => database?.drop());

  /** Occupies a connection for a workspace from `started` until `end` is called. */
  const occupy = (owner: string, of = pool) => {
    const started = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const done = inCall(new CallScope(owner), () =>
      inTransaction(of, () => {
        started.resolve();
        return ended.promise;
      }),
    );
    return { started: started.promise, end: ended.resolve, done };
  };
  const inUse = () => pool.totalCount - pool.idleCount;
  const one = (owner: string) => inCall(new CallScope(owner), () => pool.query('select 1'));

  test('are used by calls for one workspace up to a half; the others remain for other work', async () => {
    const busy = Array.from({ length: 10 }, () => occupy('ws_busy'));
    await Promise.all([busy[0]?.started, busy[1]?.started]);
    await one('ws_calm');
    await pool.query('select 1');
    await inCall(new CallScope(), () => pool.query('select 1'));
    expect(inUse()).toBe(2);
    // Each end hands its connection over to the next call.
    for (const { started, end, done } of busy) {
      await started;
      expect(inUse()).toBeLessThanOrEqual(2);
      end();
      await done;
    }
    await one('ws_busy');
    expect(inUse()).toBe(0);
  });

  test('are not taken by calls that ended while they waited', async () => {
    const busy = [occupy('ws_busy'), occupy('ws_busy')];
    await Promise.all(busy.map(({ started }) => started));
    const call = new CallScope('ws_busy');
    const waiting = inCall(call, () => pool.query('select 1'));
    call.end(new Error('the deadline passed'));
    await expect(waiting).rejects.toThrow('the deadline passed');
    for (const { end } of busy) end();
    await Promise.all(busy.map(({ done }) => done));
    await one('ws_busy');
  });

  test('are waited for at most for a given time; then the call gets a retryable error', async () => {
    const shares = new ConnectionShares(1, 10);
    const take = () => shares.take('ws_busy', new CallScope('ws_busy'));
    await take();
    await expect(take()).rejects.toMatchObject({ code: 'service_unavailable', retryAfterSeconds: 1 });
    shares.leave('ws_busy');
    await take();
  });

  test('are waited for by at most a thousand calls of a workspace; the next call gets a retryable error', async () => {
    const busy = [occupy('ws_busy'), occupy('ws_busy')];
    await Promise.all(busy.map(({ started }) => started));
    const waiting = Array.from({ length: 1_000 }, () => one('ws_busy'));
    await expect(one('ws_busy')).rejects.toMatchObject({ code: 'service_unavailable', retryAfterSeconds: 1 });
    await one('ws_calm');
    for (const { end } of busy) end();
    await Promise.all([...waiting, ...busy.map(({ done }) => done)]);
    await one('ws_busy');
    expect(inUse()).toBe(0);
  });
});
