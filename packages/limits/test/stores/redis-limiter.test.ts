import { createMetrics } from '@rms/runtime/metrics';
import { describeWith, noLimits, perSuite, perTest, testServer, waitUntil } from '@rms/testkit';
import { Redis } from 'ioredis';
import { monthOf } from '../../src/limit-check.ts';
import type { LimitDecision, Limiter } from '../../src/limiter.ts';
import { createRedisLimiter } from '../../src/redis-limiter.ts';
import { describeLimiter } from '../conformance.ts';
import { check, log, openRedisBench, timeOf } from './redis-support.ts';

describeWith('redis', 'on Redis', () => {
  let auth: Limiter;
  afterAll(() => auth.stop());
  const raw = perSuite(() => new Redis(testServer('redis')), { end: (redis) => redis.quit() });
  beforeAll(async () => {
    auth = createRedisLimiter({ url: testServer('redis'), log, ...noLimits });
    await auth.start();
  });

  describeLimiter('in Redis', async (options) => {
    const limiter = createRedisLimiter({ url: testServer('redis'), log, ...options });
    await auth.confirmMarkers(async () => {});
    await limiter.start();
    return {
      limiter,
      /** Shifts the stored times, instead of the clock of Redis. */
      async pass(seconds, { workspaceId, address }) {
        for (const key of [...(await raw.keys(`rms:{${workspaceId}}:rate:*`)), `rms:failures:${address}`]) {
          const arrivalUs = await raw.get(key);
          if (arrivalUs !== null) await raw.set(key, String(Number(arrivalUs) - seconds * 1e6), 'KEEPTTL');
        }
      },
    };
  });
});

describeWith('redis-server', 'the Redis limiter', () => {
  const outcomeOf = async (limiter: Limiter, of = check) => (await limiter.check(of)).outcome;
  const concurrentChecks = (limiter: Limiter, count: number, of = check): Promise<LimitDecision[]> =>
    Promise.all(Array.from({ length: count }, () => limiter.check(of)));
  const countOf = (all: readonly LimitDecision[], outcome: string) =>
    all.filter((decision) => decision.outcome === outcome).length;
  /** Returns whether the limiter decides without waiting for the network. */
  const respondsImmediately = (response: Promise<unknown>) =>
    Promise.race([response.then(() => true), new Promise<boolean>((resolve) => setImmediate(() => resolve(false)))]);

  const bench = perTest(openRedisBench);

  test('gateways share the limits', async () => {
    const [one, two] = await Promise.all([bench.open(), bench.open()]);
    const all = await Promise.all(Array.from({ length: 50 }, (_, i) => outcomeOf(i % 2 === 0 ? one : two)));
    expect(all.filter((outcome) => outcome === 'allowed')).toHaveLength(20);
    const waits = await Promise.all(
      Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? one : two).countFailure('192.0.2.1')),
    );
    expect(waits.filter((seconds) => seconds === 0)).toHaveLength(20);
  });

  const measure = async (work: () => Promise<unknown>) => {
    const read = () =>
      bench.raw(async (redis) => {
        const stats = await redis.info('all');
        const calls = [...stats.matchAll(/cmdstat_(eval|evalsha):calls=(\d+)/g)];
        const reads = Number(/total_reads_processed:(\d+)/.exec(stats)?.[1]);
        return { commands: calls.reduce((sum, [, , number]) => sum + Number(number), 0), reads };
      });
    const before = await read();
    await work();
    const after = await read();
    return { commands: after.commands - before.commands, reads: after.reads - before.reads };
  };

  test.each<[string, (limiter: Limiter) => Promise<unknown>]>([
    ['a check', (limiter) => limiter.check(check)],
    ['counting a failed authentication', (limiter) => limiter.countFailure('192.0.2.1')],
  ])('%s takes one command and one round trip; concurrent calls share the round trip', async (_, call) => {
    const limiter = await bench.open({ rateLimitRequests: 10_000, authFailureLimit: 10_000 });
    await call(limiter);
    // Allowance for reads by this test and by the limiters' probes.
    const slack = 25;
    const oneByOne = await measure(async () => {
      for (let i = 0; i < 100; i += 1) await call(limiter);
    });
    expect(oneByOne.commands).toBe(100);
    expect(oneByOne.reads).toBeLessThanOrEqual(100 + slack);
    const concurrent = await measure(() => Promise.all(Array.from({ length: 100 }, () => call(limiter))));
    expect(concurrent.commands).toBe(100);
    expect(concurrent.reads).toBeLessThanOrEqual(1 + slack);
  });

  test('the Redis keys of a workspace are in one slot, and all expire', async () => {
    const limiter = await bench.openTrusting();
    await limiter.check(check);
    await limiter.countFailure('192.0.2.1');
    await bench.auth.setMarkers([{ ...check, keyId: 'key_2', version: 2 }]);
    await bench.raw(async (redis) => {
      const ofWorkspaces = await redis.keys('rms:{*');
      expect(ofWorkspaces).toHaveLength(4);
      for (const key of ofWorkspaces) expect(key.startsWith('rms:{ws_1}:')).toBe(true);
      for (const key of [...ofWorkspaces, 'rms:failures:192.0.2.1', 'rms:marks-confirmed']) {
        expect(await redis.pttl(key)).toBeGreaterThan(0);
      }
    });
  });

  test('scripts are reloaded after Redis has lost them', async () => {
    const limiter = await bench.openTrusting();
    await limiter.check(check);
    await limiter.countFailure('192.0.2.1');
    await bench.auth.setMarkers([{ ...check, keyId: 'key_2', version: 2 }]);
    await bench.raw((redis) => redis.script('FLUSH'));
    expect(await limiter.check(check)).toMatchObject({
      outcome: 'allowed',
      freshness: 'current',
      rate: { remaining: 18 },
    });
    expect(await limiter.countFailure('192.0.2.1')).toBe(0);
    await bench.auth.setMarkers([{ ...check, version: 2 }]);
    expect(await bench.freshnessOf(limiter)).toBe('changed');
  });

  test('while Redis is paused, limits are enforced locally without waiting; afterwards Redis is used again', async () => {
    const limiter = await bench.openTrusting();
    expect(await limiter.check(check)).toMatchObject({ outcome: 'allowed', freshness: 'current' });
    bench.server.pause();
    expect(await limiter.check(check)).toMatchObject({ outcome: 'allowed', freshness: 'unknown' });
    expect(await respondsImmediately(limiter.check(check))).toBe(true);
    expect(await respondsImmediately(limiter.countFailure('192.0.2.1'))).toBe(true);
    const rest = await concurrentChecks(limiter, 50);
    expect([countOf(rest, 'allowed'), countOf(rest, 'rate_limited')]).toEqual([18, 32]);
    expect(new Set(rest.map(({ freshness }) => freshness))).toEqual(new Set(['unknown']));
    const waits = await Promise.all(Array.from({ length: 50 }, () => limiter.countFailure('192.0.2.1')));
    expect(waits.filter((seconds) => seconds === 0)).toHaveLength(19);
    bench.server.resume();
    await bench.becomesTrusting(limiter);
  });

  test('without Redis, limits of a check are enforced locally, and the quota is not counted', async () => {
    const limiter = await bench.open();
    await bench.server.kill();
    const limits = {
      rateLimitRequests: 5,
      rateLimitWindowSeconds: 3_600,
      workspaceRateLimitRequests: 0,
      monthlyQuota: 1,
    };
    const all = await concurrentChecks(limiter, 30, { ...check, limits });
    expect([countOf(all, 'allowed'), countOf(all, 'rate_limited')]).toEqual([5, 25]);
    const off = { rateLimitRequests: 0, rateLimitWindowSeconds: 60, workspaceRateLimitRequests: 0, monthlyQuota: 1 };
    expect(countOf(await concurrentChecks(limiter, 30, { ...check, limits: off }), 'allowed')).toBe(30);
  });

  test('a gauge shows whether limits are enforced locally', async () => {
    const metrics = createMetrics('gateway');
    const limiter = await bench.open({ metrics });
    const degraded = async () => (await metrics.getSingleMetric('rms_limiter_degraded')?.get())?.values[0]?.value;
    await limiter.check(check);
    expect(await degraded()).toBe(0);
    await bench.server.kill();
    await limiter.check(check);
    expect(await degraded()).toBe(1);
    await bench.server.restart();
    await waitUntil(async () => (await degraded()) === 0, { what: 'Redis to be used again' });
  });

  test('a Redis that is unreachable at the start is used once it is up', async () => {
    await bench.server.kill();
    const limiter = await bench.open();
    expect(await limiter.check(check)).toMatchObject({ outcome: 'allowed', freshness: 'unknown' });
    expect(await limiter.healthy()).toBe(false);
    await bench.server.restart();
    await bench.becomesTrusting(limiter);
    expect(await limiter.healthy()).toBe(true);
  });

  test('without Redis, each of two gateways grants half the rate', async () => {
    const [one, two] = await Promise.all([bench.open(), bench.open()]);
    for (const gateway of [one, two]) await gateway.check(check);
    await bench.raw((redis) =>
      waitUntil(async () => (await redis.zcard('rms:limiters')) === 2, { what: 'both gateways to be known' }),
    );
    // Each limiter counts both members after the later limiter has probed again.
    await bench.raw(async (redis) => {
      const members = await redis.zrange('rms:limiters', '0', '-1');
      const scores = () => Promise.all(members.map((member) => redis.zscore('rms:limiters', member)));
      const first = await scores();
      await waitUntil(async () => (await scores()).every((score, i) => Number(score) > Number(first[i])), {
        what: 'both gateways to probe again',
      });
    });
    await bench.server.kill();
    await bench.becomes(one, 'unknown');
    expect(countOf(await concurrentChecks(one, 50, { ...check, keyId: 'key_fresh' }), 'allowed')).toBe(10);
    const waits = await Promise.all(Array.from({ length: 50 }, () => one.countFailure('192.0.2.1')));
    expect(waits.filter((seconds) => seconds === 0)).toHaveLength(10);
  });

  test('a gateway whose clock is wrong counts in the month of the clock of Redis', async () => {
    const correct = Date.now;
    Date.now = () => correct() - 400 * 86_400_000;
    try {
      const limiter = await bench.open();
      const monthBefore = monthOf(await bench.raw(timeOf)).month;
      expect(await limiter.check({ ...check, workspaceId: 'ws_late' })).toMatchObject({ outcome: 'allowed' });
      const counters = await bench.raw((redis) => redis.keys('rms:{ws_late}:quota:*'));
      const nowMs = await bench.raw(timeOf);
      expect([monthBefore, monthOf(nowMs).month]).toContain(counters[0]?.split(':').at(-1));
      expect(Math.abs(limiter.nowMs() - nowMs)).toBeLessThan(86_400_000);
    } finally {
      Date.now = correct;
    }
  });
});
