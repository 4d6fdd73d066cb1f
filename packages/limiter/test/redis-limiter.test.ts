import { createLogger } from '@rms/service';
import { describeWith, type RedisServer, startRedis, testServer, waitUntil } from '@rms/testkit';
import { Redis } from 'ioredis';
import type { LimitCheck, Limiter, LimiterOptions } from '../src/limiter.ts';
import { createRedisLimiter } from '../src/redis-limiter.ts';
import { describeLimiter } from './conformance.ts';

const log = createLogger({ name: 'limiter', level: 'silent' });

describeWith('redis', 'on Redis', () => {
  let raw: Redis;
  beforeAll(() => {
    raw = new Redis(testServer('redis'));
  });
  afterAll(() => raw.quit());

  describeLimiter('in Redis', async (options) => {
    const limiter = createRedisLimiter({ url: testServer('redis'), log, ...options });
    await limiter.start();
    return {
      limiter,
      /** Moves what is stored into the past. */
      async pass(seconds, workspaceId) {
        for (const key of await raw.keys(`rms:{${workspaceId}}:rate:*`)) {
          const arrivalUs = Number(await raw.get(key)) - seconds * 1e6;
          await raw.set(key, String(arrivalUs), 'KEEPTTL');
        }
      },
    };
  });
});

describeWith('redis', 'the Redis limiter', () => {
  let server: RedisServer;
  const limiters: Limiter[] = [];
  const check: LimitCheck = { workspaceId: 'ws_1', environment: 'live', keyId: 'key_1' };
  const limits: LimiterOptions = { rateLimitRequests: 20, rateLimitWindowSeconds: 3_600, monthlyQuota: 1_000 };

  const open = async (options: Partial<LimiterOptions> = {}) => {
    const limiter = createRedisLimiter({ url: server.url, log, ...limits, ...options });
    limiters.push(limiter);
    await limiter.start();
    return limiter;
  };
  const raw = async <T>(ask: (redis: Redis) => Promise<T>): Promise<T> => {
    const redis = new Redis(server.url);
    try {
      return await ask(redis);
    } finally {
      redis.disconnect();
    }
  };
  const outcomeOf = async (limiter: Limiter, of = check) => (await limiter.check(of)).outcome;
  const becomes = (limiter: Limiter, outcome: string) =>
    waitUntil(async () => (await outcomeOf(limiter, { ...check, keyId: `key_${Math.random()}` })) === outcome, {
      what: `a check to be ${outcome}`,
    });
  /** Whether it answers by itself, before anything can have come from the network. */
  const answersAtOnce = (limiter: Limiter) =>
    Promise.race([
      limiter.check(check).then(() => true),
      new Promise<boolean>((resolve) => setImmediate(() => resolve(false))),
    ]);

  beforeEach(async () => {
    server = await startRedis();
  });
  afterEach(async () => {
    await Promise.all(limiters.splice(0).map((limiter) => limiter.stop()));
    await server.stop();
  });

  test('gateways share the limits', async () => {
    const [one, two] = await Promise.all([open(), open()]);
    const all = await Promise.all(Array.from({ length: 50 }, (_, i) => outcomeOf(i % 2 === 0 ? one : two)));
    expect(all.filter((outcome) => outcome === 'allowed')).toHaveLength(20);
  });

  test('a check is one command and one round trip; checks made at once share the trip', async () => {
    const limiter = await open({ rateLimitRequests: 10_000 });
    await limiter.check(check);
    const measure = async (work: () => Promise<unknown>) => {
      const read = () =>
        raw(async (redis) => {
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
    // What asking and the limiter's own watch read in the meantime.
    const slack = 15;
    const oneByOne = await measure(async () => {
      for (let i = 0; i < 100; i += 1) await limiter.check(check);
    });
    expect(oneByOne.commands).toBe(100);
    expect(oneByOne.reads).toBeLessThanOrEqual(100 + slack);
    const atOnce = await measure(() => Promise.all(Array.from({ length: 100 }, () => limiter.check(check))));
    expect(atOnce.commands).toBe(100);
    expect(atOnce.reads).toBeLessThanOrEqual(1 + slack);
  });

  test('keys of a workspace are in one slot, and none stays for ever', async () => {
    const limiter = await open();
    await limiter.check(check);
    await limiter.markRevoked([{ ...check, keyId: 'key_2' }]);
    await raw(async (redis) => {
      const keys = await redis.keys('rms:{*');
      expect(keys).toHaveLength(3);
      for (const key of keys) {
        expect(key.startsWith('rms:{ws_1}:')).toBe(true);
        expect(await redis.pttl(key)).toBeGreaterThan(0);
      }
    });
  });

  test('while Redis is frozen the limits are kept locally and no request waits for it; then it is asked again', async () => {
    const limiter = await open();
    expect(await outcomeOf(limiter)).toBe('allowed');
    server.pause();
    expect(await outcomeOf(limiter)).toBe('unknown');
    expect(await answersAtOnce(limiter)).toBe(true);
    const rest = await Promise.all(Array.from({ length: 50 }, () => outcomeOf(limiter)));
    expect(rest.filter((outcome) => outcome === 'unknown')).toHaveLength(18);
    expect(rest.filter((outcome) => outcome === 'rate_limited')).toHaveLength(32);
    server.resume();
    await becomes(limiter, 'allowed');
  });

  test('a revocation that cannot be confirmed is rejected', async () => {
    const limiter = await open();
    server.pause();
    await expect(limiter.markRevoked([check])).rejects.toThrow();
    server.resume();
    await server.kill();
    await expect(limiter.markRevoked([check])).rejects.toThrow();
  });

  test('when Redis was killed and has come back empty, listeners hear that marks were lost', async () => {
    const limiter = await open();
    await limiter.markRevoked([check]);
    let lost = 0;
    limiter.onMarksLost(() => {
      lost += 1;
    });
    await server.kill();
    await waitUntil(async () => (await outcomeOf(limiter)) === 'unknown', { what: 'the outage' });
    expect(await limiter.healthy()).toBe(false);
    const whenLost = lost;
    await server.restart();
    await becomes(limiter, 'allowed');
    expect(lost).toBeGreaterThan(whenLost);
    expect(await limiter.healthy()).toBe(true);
  });

  test('when Redis was flushed, listeners hear that marks were lost', async () => {
    const limiter = await open();
    let lost = false;
    const end = limiter.onMarksLost(() => {
      lost = true;
    });
    await raw((redis) => redis.flushall());
    await waitUntil(() => lost, { what: 'the loss to be noticed' });
    end();
  });

  test('a Redis that is away at the start is used once it is there', async () => {
    await server.kill();
    const limiter = await open();
    expect(await outcomeOf(limiter)).toBe('unknown');
    await server.restart();
    await becomes(limiter, 'allowed');
  });

  test('without Redis each of two gateways grants half of the rate', async () => {
    const gateways = await Promise.all([open(), open()]);
    for (const gateway of gateways) await gateway.check(check);
    await raw((redis) =>
      waitUntil(async () => (await redis.zcard('rms:limiters')) === 2, { what: 'both gateways to be known' }),
    );
    // Both have been told once the later one has asked again.
    await raw(async (redis) => {
      const members = await redis.zrange('rms:limiters', '0', '-1');
      const scores = () => Promise.all(members.map((member) => redis.zscore('rms:limiters', member)));
      const first = await scores();
      await waitUntil(async () => (await scores()).every((score, i) => Number(score) > Number(first[i])), {
        what: 'both gateways to have looked again',
      });
    });
    await server.kill();
    await becomes(gateways[0] as Limiter, 'unknown');
    const fresh = { ...check, keyId: 'key_fresh' };
    const all = await Promise.all(Array.from({ length: 50 }, () => outcomeOf(gateways[0] as Limiter, fresh)));
    expect(all.filter((outcome) => outcome === 'unknown')).toHaveLength(10);
  });
});
