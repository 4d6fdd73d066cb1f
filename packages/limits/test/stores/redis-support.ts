import { createLogger } from '@rms/runtime/logging';
import { disposable, type RedisServer, startRedis, waitUntil } from '@rms/testkit';
import { Redis } from 'ioredis';
import type { Freshness, LimitCheck, Limiter, LimiterOptions } from '../../src/limiter.ts';
import { createRedisLimiter, type RedisLimiterOptions } from '../../src/redis-limiter.ts';

export const log = createLogger({ name: 'limiter', level: 'silent' });

export const check: LimitCheck = { workspaceId: 'ws_1', environment: 'live', keyId: 'key_1', keyVersion: 1 };

const limits: LimiterOptions = {
  rateLimitRequests: 20,
  workspaceRateLimitRequests: 1_000,
  rateLimitWindowSeconds: 3_600,
  monthlyQuota: 1_000,
  authFailureLimit: 20,
};

export type RedisBench = Awaited<ReturnType<typeof openRedisBench>>;

/**
 * Starts a Redis that a test may pause and kill. `open` creates limiters on it; the limiter `auth` confirms the
 * markers, as the auth service does. `settings` are settings of redis.conf.
 */
export async function openRedisBench(settings: Readonly<Record<string, string>> = {}) {
  const server: RedisServer = await startRedis(settings);
  const limiters: Limiter[] = [];
  const open = async (options: Partial<RedisLimiterOptions> = {}): Promise<Limiter> => {
    const limiter = createRedisLimiter({ url: server.url, log, ...limits, ...options });
    limiters.push(limiter);
    await limiter.start();
    return limiter;
  };
  const auth = await open();
  const confirm = () => auth.confirmMarkers(async () => {});
  const freshnessOf = async (limiter: Limiter, of = check): Promise<Freshness> => (await limiter.check(of)).freshness;
  return {
    server,
    auth,
    open,
    confirm,
    /** Opens a limiter that trusts the markers from its first check. */
    async openTrusting(options?: Partial<RedisLimiterOptions>) {
      await confirm();
      return open(options);
    },
    /** Runs commands on Redis directly. */
    async raw<T>(ask: (redis: Redis) => Promise<T>): Promise<T> {
      await using redis = disposable(new Redis(server.url), 'disconnect');
      return await ask(redis);
    },
    freshnessOf,
    /** Waits until a check has the freshness. Uses random keys, so that rate limits do not interfere. */
    becomes: (limiter: Limiter, freshness: Freshness) =>
      waitUntil(async () => (await freshnessOf(limiter, { ...check, keyId: `key_${Math.random()}` })) === freshness, {
        what: `a check to return ${freshness}`,
      }),
    /** Like {@link becomes} 'current', with a confirmation by auth before each check. */
    becomesTrusting: (limiter: Limiter, of = { ...check, keyId: 'key_asked' }) =>
      waitUntil(
        async () => {
          await confirm().catch(() => {});
          return (await freshnessOf(limiter, of)) === 'current';
        },
        { what: 'the markers to be trusted' },
      ),
    async stop() {
      await Promise.all(limiters.map((limiter) => limiter.stop()));
      await server.stop();
    },
  };
}

/** Returns the time of Redis's clock, in milliseconds since 1970. */
export async function timeOf(redis: Redis): Promise<number> {
  const [seconds = 0, microseconds = 0] = await redis.time();
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}
