import { Gauge, type Logger, type Metrics, type TlsFiles } from '@rms/service';
import { attribute, spanKind, traced } from '@rms/tracing';
import { type CheckReply, connectLater } from './connect-later.ts';
import { failureRateOf, monthOf, type Rate, rateOf, rateState, wholeSeconds } from './gcra.ts';
import {
  type LimitCheck,
  type LimitDecision,
  type Limiter,
  type LimiterOptions,
  type LimitState,
  type Limits,
  marksTrustMs,
} from './limiter.ts';
import { createMemoryLimiter } from './memory-limiter.ts';
import { confirmedKey, createRedisWatch, runIdOf } from './redis-watch.ts';
import { withTimeout } from './timeout.ts';

export interface RedisLimiterOptions extends LimiterOptions {
  /** rediss:// is TLS, and the server proves that it is the host of the URL. */
  readonly url: string;
  /** For rediss://. Without a CA the public ones count. */
  readonly tls?: TlsFiles;
  readonly log: Logger;
  /** Gets the gauge that says whether limits are kept locally. */
  readonly metrics?: Metrics;
}

/** A check that takes longer is answered without Redis. */
const checkTimeoutMs = 250;
const checkStep = {
  name: 'EVALSHA limits',
  kind: spanKind.client,
  attributes: { [attribute.dbSystem]: 'redis', [attribute.dbOperation]: 'EVALSHA' },
};
const markTimeoutMs = 2_000;
/** Longer than any gateway caches a verdict. */
const markTtlMs = 60 * 60 * 1000;

/** Limits and marks that all gateways share. One round trip a check; calls of one turn of the event loop share it. */
export function createRedisLimiter(options: RedisLimiterOptions): Limiter {
  const { url, tls = {}, log } = options;
  const failureRate = failureRateOf(options);
  const redis = connectLater(url, tls);
  let hasChecked = false;
  const watch = createRedisWatch(redis, log, () => hasChecked);
  const local = createLocalShare(options, watch.members);
  if (options.metrics) showDegradation(options.metrics, () => hasChecked && !watch.usable());

  const withoutRedis = async (check: LimitCheck): Promise<LimitDecision> => ({
    ...(await local().check(check)),
    standing: 'unknown',
  });
  const ask = ({ workspaceId, environment, keyId, keyVersion }: LimitCheck, rate: Rate | undefined, quota: number) => {
    const { month, endsInSeconds } = monthOf(Date.now());
    return redis.rmsCheck(
      `rms:{${workspaceId}}:mark:${keyId}`,
      `rms:{${workspaceId}}:rate:${keyId}`,
      `rms:{${workspaceId}}:quota:${environment}:${month}`,
      keyVersion,
      rate?.emissionUs ?? 0,
      rate?.burst ?? 0,
      quota,
      endsInSeconds,
    );
  };

  return {
    async check(check) {
      hasChecked = true;
      if (!watch.usable()) return withoutRedis(check);
      const limits = check.limits ?? options;
      const rate = rateOf(limits);
      // Of before: trust that begins meanwhile may rest on a mark that the answer has not seen.
      const trustedUntilMs = watch.marksTrustedUntilMs();
      try {
        const reply = await traced(
          () => checkStep,
          () => withTimeout(ask(check, rate, limits.monthlyQuota), checkTimeoutMs),
        );
        const decision = toDecision(reply, rate, limits);
        // Compared after the answer: nobody waits for a mark that it did not see once trust has run out.
        const isTrusted = performance.now() < trustedUntilMs;
        return decision.standing === 'current' && !isTrusted ? { ...decision, standing: 'unknown' } : decision;
      } catch (error) {
        watch.failed(error);
        return withoutRedis(check);
      }
    },
    async countFailure(address) {
      if (!failureRate) return 0;
      if (!watch.usable()) return local().countFailure(address);
      try {
        const { emissionUs, burst } = failureRate;
        const waitUs = await withTimeout(
          redis.rmsCountFailure(`rms:failures:${address}`, emissionUs, burst),
          checkTimeoutMs,
        );
        return waitUs === 0 ? 0 : wholeSeconds(waitUs);
      } catch (error) {
        watch.failed(error);
        return local().countFailure(address);
      }
    },
    async mark(changes) {
      const marks = changes.map(({ workspaceId, keyId, version }) =>
        redis.rmsMark(`rms:{${workspaceId}}:mark:${keyId}`, version, markTtlMs),
      );
      await withTimeout(Promise.all(marks), markTimeoutMs);
    },
    async confirmMarks(setAll) {
      // By the clock of Redis, before anything is read: a confirmation that arrives late says nothing that is not true.
      const [info, [seconds = 0, microseconds = 0]] = await withTimeout(
        Promise.all([redis.info('server'), redis.time()]),
        markTimeoutMs,
      );
      await setAll();
      const untilMs = Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000) + marksTrustMs;
      await withTimeout(redis.set(confirmedKey, runIdOf(info), 'PXAT', untilMs), markTimeoutMs);
    },
    async raiseQuotas(uses) {
      const raised = uses.map(({ workspaceId, environment, monthMs, used }) => {
        const { month, endsInSeconds } = monthOf(monthMs);
        return redis.rmsRaiseQuota(`rms:{${workspaceId}}:quota:${environment}:${month}`, used, endsInSeconds);
      });
      await withTimeout(Promise.all(raised), markTimeoutMs);
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
}

function toDecision(reply: CheckReply, rate: Rate | undefined, { monthlyQuota }: Limits): LimitDecision {
  const [outcome, remaining, retryAfterUs, resetUs, quotaLeft, changed] = reply;
  const standing = changed === 1 ? 'changed' : 'current';
  const rateNow = rate ? rateState(rate, remaining, resetUs) : undefined;
  if (outcome === 1) {
    const retryAfterSeconds = wholeSeconds(retryAfterUs);
    return { outcome: 'rate_limited', standing, rate: rateNow, quota: undefined, retryAfterSeconds };
  }
  const { endsInSeconds } = monthOf(Date.now());
  const quota: LimitState | undefined =
    monthlyQuota > 0 ? { limit: monthlyQuota, remaining: quotaLeft, resetSeconds: endsInSeconds } : undefined;
  if (outcome === 2) {
    return { outcome: 'quota_exceeded', standing, rate: rateNow, quota, retryAfterSeconds: endsInSeconds };
  }
  return { outcome: 'allowed', standing, rate: rateNow, quota };
}

/** While Redis is away each gateway grants its fair share of the limits. The quota is not counted then. */
function createLocalShare(options: LimiterOptions, members: () => number) {
  const share = (limit: number, among: number) => (limit === 0 ? 0 : Math.ceil(limit / among));
  let current = { members: 0, limiter: createMemoryLimiter(options) };
  return (): Pick<Limiter, 'check' | 'countFailure'> => {
    const among = members();
    if (current.members !== among) {
      const authFailureLimit = share(options.authFailureLimit, among);
      current = { members: among, limiter: createMemoryLimiter({ ...options, authFailureLimit }) };
    }
    const { limiter } = current;
    return {
      check(check) {
        const { rateLimitRequests, rateLimitWindowSeconds } = check.limits ?? options;
        const limits = {
          rateLimitRequests: share(rateLimitRequests, among),
          rateLimitWindowSeconds,
          monthlyQuota: 0,
        };
        return limiter.check({ ...check, limits });
      },
      countFailure: limiter.countFailure,
    };
  };
}

function showDegradation(metrics: Metrics, degraded: () => boolean): void {
  new Gauge({
    name: 'rms_limiter_degraded',
    help: 'Whether limits are kept locally, at a fair share, because Redis cannot be asked.',
    registers: [metrics],
    collect() {
      this.set(degraded() ? 1 : 0);
    },
  });
}
