import { marksTrustMs } from '@rms/limiter';
import { createLogger, createMetrics } from '@rms/service';
import { type TestDatabase, waitUntil } from '@rms/testkit';
import { insertPendingMarks, type KeyMark, readPendingMarks } from '../src/key/mark-queries.ts';
import { createMarks } from '../src/key/marks.ts';
import { createAuthMetrics } from '../src/metrics.ts';
import { authDatabase, createTestLimiter } from './support.ts';

const log = createLogger({ name: 'test', level: 'silent' });

describe('marks of key changes', () => {
  let database: TestDatabase;
  const stopping = new AbortController();
  const running: Promise<void>[] = [];
  beforeAll(async () => {
    database = await authDatabase();
  });
  afterEach(() => database.pool.query('delete from auth.pending_marks'));
  afterAll(async () => {
    stopping.abort();
    await Promise.all(running);
    await database.drop();
  });

  /** As in one instance of auth. */
  const createInstance = ({ away = false } = {}) => {
    const limiter = createTestLimiter();
    limiter.setAway(away);
    const marks = createMarks({ pool: database.pool, limiter, log, metrics: createAuthMetrics(createMetrics('auth')) });
    const ended = new AbortController();
    return {
      limiter,
      marks,
      run() {
        running.push(marks.worker.run(AbortSignal.any([stopping.signal, ended.signal])));
      },
      end: () => ended.abort(),
    };
  };
  const markOf = (keyId: string, version = 2): KeyMark => ({
    workspaceId: 'ws_1',
    environment: 'live',
    keyId,
    version,
  });
  const pending = async () =>
    (await readPendingMarks(database.pool, 10_000)).map(({ keyId, version }) => `${keyId} ${version}`).sort();
  const heldBy = (holding: Promise<void>) => {
    const state = { held: false };
    const done = holding.then(() => {
      state.held = true;
    });
    return { state, done };
  };

  test('a change holds once its mark is set, and then is pending no more', async () => {
    const { marks, limiter } = createInstance();
    await insertPendingMarks(database.pool, [markOf('a'), markOf('b'), markOf('c')]);
    await marks.hold([markOf('a'), markOf('b')]);
    expect(limiter.marked.map(({ keyId }) => keyId)).toEqual(['a', 'b']);
    expect(await pending()).toEqual(['c 2']);
    await marks.hold([]);
  });

  test('the pending mark of a later change of the same key stays; that of an earlier one goes', async () => {
    const { marks } = createInstance();
    await insertPendingMarks(database.pool, [markOf('a', 3), markOf('b', 3)]);
    await insertPendingMarks(database.pool, [markOf('a', 2)]);
    await marks.hold([markOf('a', 2), markOf('b', 4)]);
    expect(await pending()).toEqual(['a 3']);
  });

  test('what an instance cannot mark holds once another one has marked it', async () => {
    const first = createInstance({ away: true });
    const second = createInstance({ away: true });
    await insertPendingMarks(database.pool, [markOf('a'), markOf('b')]);
    const { state, done } = heldBy(first.marks.hold([markOf('a'), markOf('b')]));
    second.run();
    await waitUntil(() => second.limiter.vouching.tries >= 2, { what: 'the other instance to try twice' });
    expect([state.held, second.limiter.vouching.confirmations]).toEqual([false, 0]);
    second.limiter.setAway(false);
    await done;
    expect(second.limiter.marked.map(({ keyId }) => keyId).sort()).toEqual(['a', 'b']);
    expect(first.limiter.marked).toEqual([]);
    expect(await pending()).toEqual([]);
    second.end();
  });

  test('one of several marks that is still pending is waited for', async () => {
    const first = createInstance({ away: true });
    const second = createInstance();
    await insertPendingMarks(database.pool, [markOf('a'), markOf('b')]);
    const { state, done } = heldBy(first.marks.hold([markOf('a'), markOf('b')]));
    await second.marks.hold([markOf('a')]);
    expect([state.held, await pending()]).toEqual([false, ['b 2']]);
    await second.marks.hold([markOf('b')]);
    await done;
  });

  test('what nobody can mark holds once the trust in marks has run out, and stays pending', async () => {
    const { marks, limiter, run, end } = createInstance({ away: true });
    await insertPendingMarks(database.pool, [markOf('a')]);
    run();
    const begunAtMs = performance.now();
    await marks.hold([markOf('a')]);
    expect(performance.now() - begunAtMs).toBeGreaterThan(marksTrustMs);
    expect(limiter.vouching.confirmations).toBe(0);
    expect(await pending()).toEqual(['a 2']);
    end();
  });

  test('while PostgreSQL cannot say whether a mark is pending, trust is waited out', async () => {
    const limiter = createTestLimiter();
    const unreachable = { query: () => Promise.reject(new Error('no connection')) } as unknown as TestDatabase['pool'];
    const marks = createMarks({
      pool: unreachable,
      limiter,
      log,
      metrics: createAuthMetrics(createMetrics('auth')),
    });
    const begunAtMs = performance.now();
    await marks.hold([markOf('a')]);
    expect(performance.now() - begunAtMs).toBeGreaterThan(marksTrustMs);
    const worker = marks.worker.run(AbortSignal.any([stopping.signal]));
    running.push(worker);
    await waitUntil(() => limiter.vouching.tries >= 2, { what: 'the worker to go on' });
    expect(limiter.vouching.confirmations).toBe(0);
  });

  test('the worker sets marks that a killed instance has left behind, before it vouches', async () => {
    const left = Array.from({ length: 2_500 }, (_, i) => markOf(`key_${i}`));
    await insertPendingMarks(database.pool, left);
    const { limiter, run, end } = createInstance();
    run();
    await waitUntil(() => limiter.vouching.confirmations > 0, { what: 'the marks to be vouched for' });
    expect(new Set(limiter.marked.map(({ keyId }) => keyId)).size).toBe(left.length);
    expect(await pending()).toEqual([]);
    end();
  });

  test('nobody vouches while a mark is pending that cannot be set', async () => {
    await insertPendingMarks(database.pool, [markOf('a')]);
    const { limiter, run, end } = createInstance({ away: true });
    run();
    await waitUntil(() => limiter.vouching.tries >= 3, { what: 'three tries' });
    expect(limiter.vouching.confirmations).toBe(0);
    limiter.setAway(false);
    await waitUntil(() => limiter.vouching.confirmations > 0, { what: 'the marks to be vouched for' });
    expect(limiter.marked.map(({ keyId }) => keyId)).toContain('a');
    end();
  });
});
