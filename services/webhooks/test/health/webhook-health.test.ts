import { timestampMs } from '@bufbuild/protobuf/wkt';
import { noLatencies } from '@rms/reporting/usage';
import { createLogger } from '@rms/runtime/logging';
import { perSuite, startReceiver, testDatabase, waitUntil } from '@rms/testkit';
import { errorClasses } from '../../src/engine/attempt/error-class.ts';
import { createAttemptTally } from '../../src/health/attempt-tally.ts';
import { addAttemptCounts, type CountsAt, noCounts } from '../../src/health/count-queries.ts';
import { migrations } from '../../src/migrations.ts';
import { readHealth } from '../../src/rpc/batch-get-webhook-health.ts';
import { responded, stepsOn } from '../leases.ts';
import { newEvent, newEvents, newTenant, startWebhooks, type Tenant } from '../support.ts';

const hourMs = 3_600_000;
const minuteMs = 60_000;

describe('attempt counts', () => {
  const database = perSuite(() => testDatabase([migrations]));

  const nowMs = Date.UTC(2026, 4, 5, 12, 34, 56);
  const setUp = async () => {
    const tenant = newTenant();
    const steps = stepsOn(database.pool);
    const id = await steps.subscribe(tenant);
    const counts = (agoMs: number, given: Partial<CountsAt> = {}): CountsAt => ({
      workspaceId: tenant.workspaceId,
      environment: 'live',
      webhookId: id,
      atMs: nowMs - agoMs,
      ...noCounts(),
      delivered: 1,
      errors: errorClasses.map(() => 0),
      latencies: noLatencies(),
      ...given,
    });
    const read = async (atMs = nowMs) => {
      const [health] = await readHealth(database.pool, steps.scopeOf(tenant), [id], atMs);
      return health?.windows.map(({ delivered, retried, failed }) => Number(delivered + retried + failed));
    };
    return { tenant, steps, id, counts, read };
  };

  test('are included in the last hour and the last day until they are older', async () => {
    const { counts, read } = await setUp();
    expect(await read()).toEqual([0, 0]);
    await addAttemptCounts(database.pool, [counts(0), counts(59 * minuteMs), counts(23 * hourMs)]);
    expect(await read()).toEqual([2, 3]);
    await addAttemptCounts(database.pool, [counts(26 * hourMs)]);
    expect(await read()).toEqual([2, 3]);
    expect(await read(nowMs + 2 * hourMs)).toEqual([0, 2]);
  });

  test('take at most forty rows per webhook and are deleted with it', async () => {
    const { tenant, id, counts, read } = await setUp();
    for (let ago = 3 * 24 * 12; ago >= 0; ago -= 1) await addAttemptCounts(database.pool, [counts(ago * 5 * minuteMs)]);
    const size = async () => {
      const { rows } = await database.pool.query(
        'select count(*)::integer as n from webhooks.attempt_counts where webhook_id = $1',
        [id],
      );
      return rows[0].n as number;
    };
    expect(await size()).toBe(40);
    // A window includes the whole period of its start.
    expect(await read()).toEqual([13, 24 * 12 + 7]);
    await database.pool.query('delete from webhooks.webhooks where workspace_id = $1 and id = $2', [
      tenant.workspaceId,
      id,
    ]);
    expect(await size()).toBe(0);
    await addAttemptCounts(database.pool, [counts(0)]);
    expect(await size()).toBe(0);
  });

  test('of many concurrent instances are added without loss', async () => {
    const { counts, read } = await setUp();
    const other = await setUp();
    const both = [counts(0), other.counts(0)];
    await Promise.all(
      Array.from({ length: 40 }, (_, i) => addAttemptCounts(database.pool, i % 2 ? both : [...both].reverse())),
    );
    expect([await read(), await other.read()]).toEqual([
      [40, 40],
      [40, 40],
    ]);
  });

  test('are summed up in memory, then written, with error classes', async () => {
    const { tenant, steps, id } = await setUp();
    const [job] = await steps.store([newEvent(tenant)], 1);
    const tally = createAttemptTally(database.pool, {
      log: createLogger({ name: 'test', level: 'silent' }),
      now: Date.now,
    });
    const timedOut = responded(job, 0);
    tally.count([
      responded(job, 200),
      responded(job, 503),
      responded(job, 503),
      responded(job, 429),
      {
        ...timedOut,
        result: { ...timedOut.result, error: 'timeout: no complete response within 10 s', durationMs: 10_000 },
      },
      responded(job, 410),
    ]);
    await tally.stop();
    const [health] = await readHealth(database.pool, steps.scopeOf(tenant), [id], Date.now());
    expect(health?.windows).toMatchObject([
      { delivered: 1n, retried: 4n, failed: 1n },
      { delivered: 1n, retried: 4n, failed: 1n },
    ]);
    const wrong = errorClasses.filter((_, i) => (health?.windows[0]?.errors[i] ?? 0) > 0);
    expect(wrong).toEqual(['4xx', '429', '5xx', 'timeout']);
  });
});

describe('BatchGetWebhookHealth', () => {
  const rms = perSuite(startWebhooks);
  const receiver = perSuite(startReceiver);

  const subscribe = async (tenant: Tenant) => (await rms.subscribe(tenant, receiver.url)).id;
  const healthOf = async (tenant: Tenant, id: string) => {
    const { healths } = await rms.webhooks.batchGetWebhookHealth({ ...tenant, ids: [id] });
    return healths[0];
  };

  test('reports a failing endpoint, its open circuit, and its recovery', async () => {
    const tenant = newTenant();
    const id = await subscribe(tenant);
    receiver.respondWith(500);
    const startedAtMs = Date.now();
    await rms.publish(...newEvents(tenant, 12));
    const open = await waitUntil(
      async () => {
        const health = await healthOf(tenant, id);
        return health?.openCircuit && (health.windows[0]?.retried ?? 0n) >= 10n ? health : undefined;
      },
      { what: 'the open circuit and the counts' },
    );
    expect(timestampMs(open.failingSince ?? ({ seconds: 0n, nanos: 0 } as never))).toBeGreaterThan(startedAtMs - 1_000);
    expect(timestampMs(open.openCircuit?.openTime as never)).toBeGreaterThan(startedAtMs - 1_000);
    expect(timestampMs(open.openCircuit?.nextProbeTime as never)).toBeGreaterThan(startedAtMs);
    expect(open.unfinished).toBe(12);
    expect(open.windows[0]).toMatchObject({ delivered: 0n, errors: [{ class: '5xx' }] });
    expect(open.windows[0]?.p95Ms).toBeGreaterThan(0);

    receiver.respondWith(200);
    await rms.publish(newEvent(tenant));
    const closed = await waitUntil(
      async () => {
        const health = await healthOf(tenant, id);
        return health && !health.openCircuit && (health.windows[0]?.delivered ?? 0n) > 0n ? health : undefined;
      },
      { what: 'the closed circuit and the counts' },
    );
    expect(closed.failingSince).toBeUndefined();
    expect(closed.windows.map(({ delivered }) => delivered)[1]).toBe(closed.windows[0]?.delivered);
  });

  test('returns results in the order of the IDs, without missing and foreign webhooks', async () => {
    const tenant = newTenant();
    const [first, second] = [await subscribe(tenant), await subscribe(tenant)];
    const other = await subscribe(newTenant());
    const { healths } = await rms.webhooks.batchGetWebhookHealth({
      ...tenant,
      ids: [second, other, 'wh_none', first, second],
    });
    expect(healths.map(({ webhookId }) => webhookId)).toEqual([second, first]);
    expect(healths[0]).toMatchObject({
      unfinished: 0,
      windows: [
        { delivered: 0n, p95Ms: 0 },
        { failed: 0n, errors: [] },
      ],
    });
  });

  test.each([0, 101])('rejects %i IDs', async (count) => {
    const ids = Array.from({ length: count }, (_, i) => `wh_${i}`);
    await expect(rms.webhooks.batchGetWebhookHealth({ ...newTenant(), ids })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });
});
