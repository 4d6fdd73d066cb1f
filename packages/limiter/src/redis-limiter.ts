import type { Logger } from '@rms/service';
import { Redis } from 'ioredis';
import { checkScript } from './check-script.ts';
import { monthOf, rateOf, rateState, wholeSeconds } from './gcra.ts';
import type { LimitCheck, LimitDecision, Limiter, LimiterOptions, LimitState } from './limiter.ts';
import { createMemoryLimiter } from './memory-limiter.ts';
import { createRedisWatch } from './redis-watch.ts';
import { withTimeout } from './timeout.ts';

export interface RedisLimiterOptions extends LimiterOptions {
  readonly url: string;
  readonly log: Logger;
}

/** A check that takes longer is answered without Redis. */
const checkTimeoutMs = 250;
const markTimeoutMs = 2_000;
/** Longer than any gateway caches a principal. */
const markTtlMs = 60 * 60 * 1000;

type CheckReply = [outcome: number, remaining: number, retryAfterUs: number, resetUs: number, quotaLeft: number];
type Scripted = Redis & { rmsCheck(...args: (string | number)[]): Promise<CheckReply> };

/** Limits and marks that all gateways share. One round trip a check; calls of one turn of the event loop share it. */
export function createRedisLimiter(options: RedisLimiterOptions): Limiter {
  const { url, log, monthlyQuota } = options;
  const rate = rateOf(options);
  const redis = connectLater(url);
  let hasChecked = false;
  const watch = createRedisWatch(redis, log, () => hasChecked);
  const local = createLocalShare(options, watch.members);

  const withoutRedis = async (check: LimitCheck): Promise<LimitDecision> => {
    const decision = await local(check);
    return decision.outcome === 'allowed' ? { outcome: 'unknown', rate: decision.rate } : decision;
  };
  const ask = ({ workspaceId, environment, keyId }: LimitCheck, month: string, endsInSeconds: number) =>
    redis.rmsCheck(
      `rms:{${workspaceId}}:revoked:${keyId}`,
      `rms:{${workspaceId}}:rate:${keyId}`,
      `rms:{${workspaceId}}:quota:${environment}:${month}`,
      rate?.emissionUs ?? 0,
      rate?.burst ?? 0,
      monthlyQuota,
      endsInSeconds,
    );

  return {
    async check(check) {
      hasChecked = true;
      if (!watch.usable()) return withoutRedis(check);
      const { month, endsInSeconds } = monthOf(Date.now());
      try {
        const reply = await withTimeout(ask(check, month, endsInSeconds), checkTimeoutMs);
        return toDecision(reply, endsInSeconds);
      } catch (error) {
        watch.failed(error);
        return withoutRedis(check);
      }
    },
    async markRevoked(keys) {
      const marks = keys.map(({ workspaceId, keyId }) =>
        redis.set(`rms:{${workspaceId}}:revoked:${keyId}`, '1', 'PX', markTtlMs),
      );
      await withTimeout(Promise.all(marks), markTimeoutMs);
    },
    onMarksLost: watch.onMarksLost,
    healthy: () =>
      withTimeout(redis.ping(), checkTimeoutMs).then(
        () => true,
        () => false,
      ),
    start: watch.start,
    stop: async () => watch.stop(),
  };

  function toDecision(reply: CheckReply, endsInSeconds: number): LimitDecision {
    const [outcome, remaining, retryAfterUs, resetUs, quotaLeft] = reply;
    if (outcome === 1) return { outcome: 'revoked' };
    const rateNow = rate ? rateState(rate, remaining, resetUs) : undefined;
    const quota: LimitState | undefined =
      monthlyQuota > 0 ? { limit: monthlyQuota, remaining: quotaLeft, resetSeconds: endsInSeconds } : undefined;
    if (outcome === 2) {
      const retryAfterSeconds = wholeSeconds(retryAfterUs);
      return { outcome: 'rate_limited', rate: rateNow, quota: undefined, retryAfterSeconds };
    }
    if (outcome === 3) return { outcome: 'quota_exceeded', rate: rateNow, quota, retryAfterSeconds: endsInSeconds };
    return { outcome: 'allowed', rate: rateNow, quota };
  }
}

/** Nothing waits in a queue for a Redis that is away. */
function connectLater(url: string): Scripted {
  const redis = new Redis(url, {
    lazyConnect: true,
    enableAutoPipelining: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    // stop() does not wait for a server that is away.
    disconnectTimeout: 100,
    // A server that is silent for so long is dialled anew.
    socketTimeout: 3_000,
    retryStrategy: (attempt) => Math.min(100 * attempt, 1_000),
    // What answers is a replica now: its name may lead to the new primary.
    reconnectOnError: ({ message }) => message.startsWith('READONLY'),
  });
  redis.defineCommand('rmsCheck', { numberOfKeys: 3, lua: checkScript });
  return redis as Scripted;
}

/** While Redis is away each gateway grants its fair share of the rate. The quota is not counted then. */
function createLocalShare(options: LimiterOptions, members: () => number) {
  let share = { members: 0, limiter: createMemoryLimiter(options) };
  return (check: LimitCheck) => {
    const now = members();
    if (share.members !== now) {
      const rateLimitRequests = Math.ceil(options.rateLimitRequests / now);
      share = { members: now, limiter: createMemoryLimiter({ ...options, rateLimitRequests, monthlyQuota: 0 }) };
    }
    return share.limiter.check(check);
  };
}
