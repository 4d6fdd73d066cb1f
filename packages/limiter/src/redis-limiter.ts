import type { Logger } from '@rms/service';
import { Redis } from 'ioredis';
import { checkScript } from './check-script.ts';
import { monthOf, rateOf, rateState } from './gcra.ts';
import type { LimitCheck, LimitDecision, Limiter, LimiterOptions, LimitState } from './limiter.ts';
import { createMemoryLimiter } from './memory-limiter.ts';

export interface RedisLimiterOptions extends LimiterOptions {
  readonly url: string;
  readonly log: Logger;
}

/** A check that takes longer is answered without Redis. */
const commandTimeoutMs = 250;
/** After a failed check, Redis is left alone so long; then one check tries again. */
const restMs = 500;
const markTtlMs = 60 * 60 * 1000;
const markTimeoutMs = 2_000;

type CheckReply = [outcome: number, remaining: number, retryAfterUs: number, resetUs: number, quotaLeft: number];
type Scripted = Redis & { rmsCheck(...args: (string | number)[]): Promise<CheckReply> };

/** Limits and marks that all gateways share. One round trip a check; calls of one turn of the event loop share it. */
export function createRedisLimiter(options: RedisLimiterOptions): Limiter {
  const { url, log, monthlyQuota } = options;
  const rate = rateOf(options);
  // While Redis is away each gateway limits by itself.
  const local = createMemoryLimiter({ ...options, monthlyQuota: 0 });
  const marksLostListeners = new Set<() => void>();
  const redis = new Redis(url, {
    lazyConnect: true,
    enableAutoPipelining: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    retryStrategy: (attempt) => Math.min(100 * attempt, 1_000),
  }) as Scripted;
  redis.defineCommand('rmsCheck', { numberOfKeys: 3, lua: checkScript });
  let restUntilMs = 0;
  let away = false;

  const marksLost = () => {
    for (const listener of marksLostListeners) listener();
  };
  const setAway = (isAway: boolean, err?: unknown) => {
    if (isAway) restUntilMs = Date.now() + restMs;
    if (isAway === away) return;
    away = isAway;
    if (isAway) log.warn({ err }, 'redis cannot be asked; limits are kept locally, revocations are asked of auth');
    else log.info('redis answers again');
  };
  redis.on('error', (err) => setAway(true, err));
  redis.on('close', () => {
    setAway(true);
    marksLost();
  });

  const withoutRedis = async (check: LimitCheck): Promise<LimitDecision> => {
    const decision = await local.check(check);
    return decision.outcome === 'allowed' ? { outcome: 'unknown', rate: decision.rate } : decision;
  };

  return {
    async check(check) {
      if (redis.status !== 'ready' || (away && Date.now() < restUntilMs)) return withoutRedis(check);
      // While Redis is away one check in each rest time finds out whether it is back; the others don't wait for it.
      if (away) restUntilMs = Date.now() + restMs;
      const { month, endsInSeconds } = monthOf(Date.now());
      const slot = `rms:{${check.workspaceId}}`;
      try {
        const reply = await withTimeout(
          redis.rmsCheck(
            `${slot}:revoked:${check.keyId}`,
            `${slot}:rate:${check.keyId}`,
            `${slot}:quota:${check.environment}:${month}`,
            rate?.emissionUs ?? 0,
            rate?.burst ?? 0,
            monthlyQuota,
            endsInSeconds,
          ),
          commandTimeoutMs,
        );
        if (away) {
          setAway(false);
          marksLost();
        }
        return toDecision(reply, endsInSeconds);
      } catch (error) {
        setAway(true, error);
        return withoutRedis(check);
      }
    },
    async markRevoked(keys) {
      const marks = keys.map(({ workspaceId, keyId }) =>
        redis.set(`rms:{${workspaceId}}:revoked:${keyId}`, '1', 'PX', markTtlMs),
      );
      await withTimeout(Promise.all(marks), markTimeoutMs);
    },
    onMarksLost(listener) {
      marksLostListeners.add(listener);
      return () => marksLostListeners.delete(listener);
    },
    healthy: () =>
      withTimeout(redis.ping(), commandTimeoutMs).then(
        () => true,
        () => false,
      ),
    async start() {
      // A Redis that is away at the start is as one that goes away later.
      await redis.connect().catch((err: unknown) => setAway(true, err));
    },
    async stop() {
      redis.disconnect();
    },
  };

  function toDecision(reply: CheckReply, endsInSeconds: number): LimitDecision {
    const [outcome, remaining, retryAfterUs, resetUs, quotaLeft] = reply;
    if (outcome === 1) return { outcome: 'revoked' };
    const rateNow = rate ? rateState(rate, remaining, resetUs) : undefined;
    const quota: LimitState | undefined =
      monthlyQuota > 0 ? { limit: monthlyQuota, remaining: quotaLeft, resetSeconds: endsInSeconds } : undefined;
    if (outcome === 2) {
      const retryAfterSeconds = Math.max(1, Math.ceil(retryAfterUs / 1e6));
      return { outcome: 'rate_limited', rate: rateNow, quota: undefined, retryAfterSeconds };
    }
    if (outcome === 3) return { outcome: 'quota_exceeded', rate: rateNow, quota, retryAfterSeconds: endsInSeconds };
    return { outcome: 'allowed', rate: rateNow, quota };
  }
}

/** The answer, or a rejection after a time. What comes later is dropped. */
function withTimeout<T>(answer: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`redis did not answer within ${timeoutMs} ms`)), timeoutMs);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
