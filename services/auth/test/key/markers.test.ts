import { markersTrustMs } from '@rms/limits';
import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import { perSuite, type TestDatabase, waitUntil } from '@rms/testkit';
import {
  deletePendingMarkers,
  insertPendingMarkers,
  type KeyMarker,
  readPendingMarkers,
} from '../../src/key/marker-queries.ts';
import { createMarkers } from '../../src/key/markers.ts';
import { createAuthMetrics } from '../../src/metrics.ts';
import { authDatabase, createTestLimiter } from '../support.ts';

const log = createLogger({ name: 'test', level: 'silent' });

describe('Revocation markers', () => {
  let stopping = new AbortController();
  let running: Promise<void>[] = [];
  const database = perSuite(authDatabase);
  // A worker that still runs would set the next test's markers.
  afterEach(async () => {
    stopping.abort();
    await Promise.all(running);
    stopping = new AbortController();
    running = [];
    await database.pool.query('delete from auth.pending_markers');
  });

  /** Creates the parts of an auth instance. */
  const createInstance = ({ unavailable = false } = {}) => {
    const limiter = createTestLimiter();
    limiter.setUnavailable(unavailable);
    const markers = createMarkers({
      pool: database.pool,
      limiter,
      log,
      metrics: createAuthMetrics(createMetrics('auth')),
    });
    return {
      limiter,
      markers,
      run() {
        running.push(markers.worker.run(stopping.signal));
      },
    };
  };
  const markerOf = (keyId: string, version = 2): KeyMarker => ({
    workspaceId: 'ws_1',
    environment: 'live',
    keyId,
    version,
  });
  const pending = async () =>
    (await readPendingMarkers(database.pool, 10_000)).map(({ keyId, version }) => `${keyId} ${version}`).sort();
  const heldBy = (holding: Promise<void>) => {
    const state = { held: false };
    const done = holding.then(() => {
      state.held = true;
    });
    return { state, done };
  };

  test.each([
    ['inserted', insertPendingMarkers],
    ['deleted', deletePendingMarkers],
  ])('markers are %s in the order of their keys, so that two transactions cannot deadlock', async (_, change) => {
    const { pool } = database;
    await insertPendingMarkers(pool, [markerOf('a'), markerOf('b'), markerOf('c')]);
    const first = await pool.connect();
    const last = await pool.connect();
    let changing: Promise<void> | undefined;
    try {
      await first.query(`begin; select from auth.pending_markers where key_id = 'a' for update`);
      changing = change(pool, [markerOf('c'), markerOf('b'), markerOf('a')]);
      const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
      await waitUntil(async () => (await last.query(waiting)).rowCount, {
        what: 'the change to wait for the first row',
      });
      // It has locked none of the rows after it.
      const free = `select key_id from auth.pending_markers where key_id > 'a' order by key_id for update skip locked`;
      expect((await last.query(free)).rows).toEqual([{ key_id: 'b' }, { key_id: 'c' }]);
    } finally {
      await first.query('rollback');
      first.release();
      last.release();
      await changing;
    }
  });

  test('a change is effective once its marker is set, and the marker is then not pending', async () => {
    const { markers, limiter } = createInstance();
    await insertPendingMarkers(database.pool, [markerOf('a'), markerOf('b'), markerOf('c')]);
    await markers.hold([markerOf('a'), markerOf('b')]);
    expect(limiter.marked.map(({ keyId }) => keyId)).toEqual(['a', 'b']);
    expect(await pending()).toEqual(['c 2']);
    await markers.hold([]);
  });

  test('a pending marker of a later version remains; a pending marker of an earlier version is deleted', async () => {
    const { markers } = createInstance();
    await insertPendingMarkers(database.pool, [markerOf('a', 3), markerOf('b', 3)]);
    await insertPendingMarkers(database.pool, [markerOf('a', 2)]);
    await markers.hold([markerOf('a', 2), markerOf('b', 4)]);
    expect(await pending()).toEqual(['a 3']);
  });

  test('a change that one instance cannot mark is effective once another instance has set its marker', async () => {
    const first = createInstance({ unavailable: true });
    const second = createInstance({ unavailable: true });
    await insertPendingMarkers(database.pool, [markerOf('a'), markerOf('b')]);
    const { state, done } = heldBy(first.markers.hold([markerOf('a'), markerOf('b')]));
    second.run();
    await waitUntil(() => second.limiter.confirming.tries >= 2, { what: 'the other instance to try twice' });
    expect([state.held, second.limiter.confirming.confirmations]).toEqual([false, 0]);
    second.limiter.setUnavailable(false);
    await done;
    expect(second.limiter.marked.map(({ keyId }) => keyId).sort()).toEqual(['a', 'b']);
    expect(first.limiter.marked).toEqual([]);
    expect(await pending()).toEqual([]);
  });

  test('waits until none of several markers is pending', async () => {
    const first = createInstance({ unavailable: true });
    const second = createInstance();
    await insertPendingMarkers(database.pool, [markerOf('a'), markerOf('b')]);
    const { state, done } = heldBy(first.markers.hold([markerOf('a'), markerOf('b')]));
    await second.markers.hold([markerOf('a')]);
    expect([state.held, await pending()]).toEqual([false, ['b 2']]);
    await second.markers.hold([markerOf('b')]);
    await done;
  });

  test('a change whose marker no instance can set is effective when the trust expires; the marker stays pending', async () => {
    const { markers, limiter, run } = createInstance({ unavailable: true });
    await insertPendingMarkers(database.pool, [markerOf('a')]);
    run();
    const startedAtMs = performance.now();
    await markers.hold([markerOf('a')]);
    expect(performance.now() - startedAtMs).toBeGreaterThan(markersTrustMs);
    expect(limiter.confirming.confirmations).toBe(0);
    expect(await pending()).toEqual(['a 2']);
  });

  test('waits for the trust to expire while PostgreSQL is unavailable', async () => {
    const limiter = createTestLimiter();
    const unreachable = { query: () => Promise.reject(new Error('no connection')) } as unknown as TestDatabase['pool'];
    const markers = createMarkers({
      pool: unreachable,
      limiter,
      log,
      metrics: createAuthMetrics(createMetrics('auth')),
    });
    const startedAtMs = performance.now();
    await markers.hold([markerOf('a')]);
    expect(performance.now() - startedAtMs).toBeGreaterThan(markersTrustMs);
    running.push(markers.worker.run(stopping.signal));
    await waitUntil(() => limiter.confirming.tries >= 2, { what: 'the worker to continue' });
    expect(limiter.confirming.confirmations).toBe(0);
  });

  test('the worker sets the pending markers of a killed instance before it confirms the markers', async () => {
    const unset = Array.from({ length: 2_500 }, (_, i) => markerOf(`key_${i}`));
    await insertPendingMarkers(database.pool, unset);
    const { limiter, run } = createInstance();
    run();
    await waitUntil(() => limiter.confirming.confirmations > 0, { what: 'the confirmation of the markers' });
    expect(new Set(limiter.marked.map(({ keyId }) => keyId)).size).toBe(unset.length);
    expect(await pending()).toEqual([]);
  });

  test('markers are not confirmed while a pending marker cannot be set', async () => {
    await insertPendingMarkers(database.pool, [markerOf('a')]);
    const { limiter, run } = createInstance({ unavailable: true });
    run();
    await waitUntil(() => limiter.confirming.tries >= 3, { what: 'three tries' });
    expect(limiter.confirming.confirmations).toBe(0);
    limiter.setUnavailable(false);
    await waitUntil(() => limiter.confirming.confirmations > 0, { what: 'the confirmation of the markers' });
    expect(limiter.marked.map(({ keyId }) => keyId)).toContain('a');
  });
});
