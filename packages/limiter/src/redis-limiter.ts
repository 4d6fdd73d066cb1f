import { withTimeout } from '@rms/async';
import type { Logger } from '@rms/logging';
import { Gauge, type Metrics } from '@rms/metrics';
import type { TlsFiles } from '@rms/settings';
import { attribute, spanKind, traced } from '@rms/tracing';
import { type CheckReply, connectLater } from './connect-later.ts';
import { failureRateOf, monthOf, type Rates, rateState, ratesOf, wholeSeconds } from './gcra.ts';
import {
  type LimitCheck,
  type LimitDecision,
  type Limiter,
  type LimiterOptions,
  type LimitState,
  type Limits,
  markersTrustMs,
} from './limiter.ts';
import { createMemoryLimiter } from './memory-limiter.ts';
import { confirmedKey, createRedisWatch, runIdOf } from './redis-watch.ts';

export interface RedisLimiterOptions extends LimiterOptions {
  /** rediss:// enables TLS with verification of the host name. */
  readonly url: string;
  /** For rediss://. Without a CA, the public CAs are trusted. */
  readonly tls?: TlsFiles;
  readonly log: Logger;
  /** Registry for the degradation gauge. */
  readonly metrics?: Metrics;
}

/** A check that takes longer is decided without Redis. */
const checkTimeoutMs = 250;
const checkStep = {
  name: 'EVALSHA limits',
  kind: spanKind.client,
  attributes: { [attribute.dbSystem]: 'redis', [attribute.dbOperation]: 'EVALSHA' },
};
const markerTimeoutMs = 2_000;
/** Longer than any gateway caches a principal. */
const markerTtlMs = 60 * 60 * 1000;

/**
 * Creates a limiter with state shared by all gateways. A check takes one round trip; checks in one turn of the event
 * loop share it.
 */
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
    freshness: 'unknown',
  });
  const ask = ({ workspaceId, environment, keyId, keyVersion }: LimitCheck, rates: Rates, quota: number) => {
    const { month, endsInSeconds } = monthOf(Date.now());
    return redis.rmsCheck(
      `rms:{${workspaceId}}:mark:${keyId}`,
      `rms:{${workspaceId}}:rate:${keyId}`,
      `rms:{${workspaceId}}:rate:${environment}`,
      `rms:{${workspaceId}}:quota:${environment}:${month}`,
      keyVersion,
      rates.own?.emissionUs ?? 0,
      rates.own?.burst ?? 0,
      rates.workspace?.emissionUs ?? 0,
      rates.workspace?.burst ?? 0,
      quota,
      endsInSeconds,
    );
  };

  return {
    async check(check) {
      hasChecked = true;
      if (!watch.usable()) return withoutRedis(check);
      const limits = check.limits ?? options;
      const rates = ratesOf(limits);
      // Read before the call: a confirmation that arrives during the call may cover a marker that was set after Redis
      // checked the request.
      const trustedUntilMs = watch.markersTrustedUntilMs();
      try {
        const reply = await traced(
          () => checkStep,
          () => withTimeout(ask(check, rates, limits.monthlyQuota), checkTimeoutMs, 'Redis'),
        );
        const decision = toDecision(reply, rates, limits);
        // Compared after the response: once the trust has expired, a revocation can complete without a marker that this
        // check would have seen.
        const isTrusted = performance.now() < trustedUntilMs;
        return decision.freshness === 'current' && !isTrusted ? { ...decision, freshness: 'unknown' } : decision;
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
          'Redis',
        );
        return waitUs === 0 ? 0 : wholeSeconds(waitUs);
      } catch (error) {
        watch.failed(error);
        return local().countFailure(address);
      }
    },
    async setMarkers(changes) {
      const markers = changes.map(({ workspaceId, keyId, version }) =>
        redis.rmsSetMarker(`rms:{${workspaceId}}:mark:${keyId}`, version, markerTtlMs),
      );
      await withTimeout(Promise.all(markers), markerTimeoutMs, 'Redis');
    },
    async confirmMarkers(setAll) {
      // Reads the clock of Redis before `setAll` reads the changes, so that a late confirmation expires early instead
      // of being wrong.
      const [info, [seconds = 0, microseconds = 0]] = await withTimeout(
        Promise.all([redis.info('server'), redis.time()]),
        markerTimeoutMs,
        'Redis',
      );
      await setAll();
      const untilMs = Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000) + markersTrustMs;
      await withTimeout(redis.set(confirmedKey, runIdOf(info), 'PXAT', untilMs), markerTimeoutMs, 'Redis');
    },
    async raiseQuotas(uses) {
      const raised = uses.map(({ workspaceId, environment, monthMs, used }) => {
        const { month, endsInSeconds } = monthOf(monthMs);
        return redis.rmsRaiseQuota(`rms:{${workspaceId}}:quota:${environment}:${month}`, used, endsInSeconds);
      });
      await withTimeout(Promise.all(raised), markerTimeoutMs, 'Redis');
    },
    onMarkersLost: watch.onMarkersLost,
    healthy: () =>
      withTimeout(redis.ping(), checkTimeoutMs, 'Redis').then(
        () => !watch.lacksRights(),
        () => false,
      ),
    start: watch.start,
    stop: async () => watch.stop(),
  };
}

function toDecision(reply: CheckReply, { own, workspace }: Rates, { monthlyQuota }: Limits): LimitDecision {
  const [outcome, retryAfterUs, remaining, resetUs, workspaceRemaining, workspaceResetUs, quotaRemaining, changed] =
    reply;
  const freshness = changed === 1 ? 'changed' : 'current';
  const rate = own ? rateState(own, remaining, resetUs) : undefined;
  const workspaceRate = workspace ? rateState(workspace, workspaceRemaining, workspaceResetUs) : undefined;
  const common = { freshness, rate, workspaceRate } as const;
  if (outcome === 1) {
    const retryAfterSeconds = wholeSeconds(retryAfterUs);
    return { ...common, outcome: 'rate_limited', quota: undefined, retryAfterSeconds };
  }
  const { endsInSeconds } = monthOf(Date.now());
  const quota: LimitState | undefined =
    monthlyQuota > 0 ? { limit: monthlyQuota, remaining: quotaRemaining, resetSeconds: endsInSeconds } : undefined;
  if (outcome === 2) {
    return { ...common, outcome: 'quota_exceeded', quota, retryAfterSeconds: endsInSeconds };
  }
  return { ...common, outcome: 'allowed', quota };
}

/**
 * Creates the limiter for outages of Redis: each gateway grants an equal share of the limits and does not count the
 * quota.
 */
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
        const { rateLimitRequests, workspaceRateLimitRequests, rateLimitWindowSeconds } = check.limits ?? options;
        const limits = {
          rateLimitRequests: share(rateLimitRequests, among),
          workspaceRateLimitRequests: share(workspaceRateLimitRequests, among),
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
    help: 'Whether limits are enforced locally, at an equal share, because Redis is unreachable.',
    registers: [metrics],
    collect() {
      this.set(degraded() ? 1 : 0);
    },
  });
}
