import { createLogger } from '@rms/service';
import { type RedisServer, startRedis, waitUntil } from '@rms/testkit';
import { Redis } from 'ioredis';
import type { LimitCheck, Limiter, LimiterOptions, Standing } from '../src/limiter.ts';
import { createRedisLimiter, type RedisLimiterOptions } from '../src/redis-limiter.ts';

export const log = createLogger({ name: 'limiter', level: 'silent' });

export const check: LimitCheck = { workspaceId: 'ws_1', environment: 'live', keyId: 'key_1', keyVersion: 1 };

const limits: LimiterOptions = {
  rateLimitRequests: 20,
  rateLimitWindowSeconds: 3_600,
  monthlyQuota: 1_000,
  authFailureLimit: 20,
};

export type RedisBench = Awaited<ReturnType<typeof openRedisBench>>;

/** A Redis that a test may freeze and kill, limiters on it, and one that vouches for the marks as auth does. */
export async function openRedisBench() {
  const server: RedisServer = await startRedis();
  const limiters: Limiter[] = [];
  const open = async (options: Partial<RedisLimiterOptions> = {}): Promise<Limiter> => {
    const limiter = createRedisLimiter({ url: server.url, log, ...limits, ...options });
    limiters.push(limiter);
    await limiter.start();
    return limiter;
  };
  const auth = await open();
  const vouch = () => auth.confirmMarks(async () => {});
  const standingOf = async (limiter: Limiter, of = check): Promise<Standing> => (await limiter.check(of)).standing;
  return {
    server,
    auth,
    open,
    vouch,
    /** A gateway that trusts the marks from its first check on. */
    async openTrusting(options?: Partial<RedisLimiterOptions>) {
      await vouch();
      return open(options);
    },
    /** Asks Redis itself. */
    async raw<T>(ask: (redis: Redis) => Promise<T>): Promise<T> {
      const redis = new Redis(server.url);
      try {
        return await ask(redis);
      } finally {
        redis.disconnect();
      }
    },
    standingOf,
    /** Waits; keys that nothing else is asked about take nothing from the limits of others. */
    becomes: (limiter: Limiter, standing: Standing) =>
      waitUntil(async () => (await standingOf(limiter, { ...check, keyId: `key_${Math.random()}` })) === standing, {
        what: `a check to be ${standing}`,
      }),
    /** As {@link becomes} 'current', with auth vouching all the while. */
    becomesTrusting: (limiter: Limiter, of = { ...check, keyId: 'key_asked' }) =>
      waitUntil(
        async () => {
          await vouch().catch(() => {});
          return (await standingOf(limiter, of)) === 'current';
        },
        { what: 'the marks to be trusted' },
      ),
    async stop() {
      await Promise.all(limiters.map((limiter) => limiter.stop()));
      await server.stop();
    },
  };
}

/** Milliseconds since 1970 by the clock of Redis. */
export async function timeOf(redis: Redis): Promise<number> {
  const [seconds = 0, microseconds = 0] = await redis.time();
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}
