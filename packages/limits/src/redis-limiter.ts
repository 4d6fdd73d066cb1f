import { withTimeout } from '@rms/async';
import { attribute, spanKind, traced } from '@rms/async/tracing';
import {
  createRedisServers,
  createRedisWatch,
  type RedisAddress,
  type RedisServer,
  type RedisWatch,
  readRedisAddress,
} from '@rms/redis';
import type { Logger } from '@rms/runtime/logging';
import { Gauge, type Metrics } from '@rms/runtime/metrics';
import type { Settings } from '@rms/runtime/settings';
import {
  appliedLimits,
  type CheckReply,
  defineScripts,
  failureRateOf,
  markerKey,
  monthOf,
  type Rates,
  rateState,
  type Scripted,
  wholeSeconds,
} from './limit-check.ts';
import {
  type LimitCheck,
  type LimitDecision,
  type Limiter,
  type LimiterOptions,
  type LimitState,
  markersTrustMs,
} from './limiter.ts';
import { LocalShare } from './memory-limiter.ts';
import { confirmMarkers, markerTimeoutMs, setMarker } from './redis-markers.ts';

export interface RedisLimiterOptions extends LimiterOptions, RedisAddress {
  readonly log: Logger;
  /** Registry for the degradation gauge. */
  readonly metrics?: Metrics;
  /** See RedisWatchOptions. */
  readonly restMs?: number;
}

/** A check that takes longer is decided without Redis. */
const checkTimeoutMs = 250;
const checkStep = {
  name: 'EVALSHA limits',
  kind: spanKind.client,
  attributes: { [attribute.dbSystem]: 'redis', [attribute.dbOperation]: 'EVALSHA' },
};

/** Errors while a cluster moves a slot: they concern one key. */
const moving = /^(?:ASK|TRYAGAIN)\b/;

/**
 * Creates a limiter with state shared by all gateways. A check takes one round trip; checks in one turn of the event
 * loop share it, per server of a cluster. All keys of a workspace are in one slot.
 */
export function createRedisLimiter(options: RedisLimiterOptions): Limiter {
  const { log, restMs = 60_000 } = options;
  const failureRate = failureRateOf(options);
  const servers = createRedisServers(options, log);
  const watches = new Map<RedisServer, RedisWatch>();
  const markersLostListeners = new Set<() => void>();
  const markersLost = () => {
    for (const listener of markersLostListeners) listener();
  };
  let hasChecked = false;
  servers.onServer((server) => {
    defineScripts(server.redis);
    const watch = createRedisWatch(server, {
      isMember: () => hasChecked,
      markersLost,
      failed: servers.failed,
      restMs,
      markersTrustMs,
    });
    watches.set(server, watch);
    return () => {
      watches.delete(server);
      watch.stop();
    };
  });
  // The new owner of a slot may lack markers.
  servers.onMove(markersLost);
  const allWatches = (is: (watch: RedisWatch) => boolean) => watches.size > 0 && [...watches.values()].every(is);
  const nowMs = () => {
    for (const watch of watches.values()) {
      const time = watch.nowMs();
      if (time !== undefined) return time;
    }
    return Date.now();
  };
  const members = () => Math.max(1, ...[...watches.values()].map((watch) => watch.members()));
  const local = new LocalShare(options, members);
  if (options.metrics) showDegradation(options.metrics, () => hasChecked && !allWatches((watch) => watch.usable()));

  const failed = (watch: RedisWatch, error: unknown) => {
    servers.failed(error);
    if (!moving.test((error as Error | undefined)?.message ?? '')) watch.failed(error);
  };
  /** Returns a key's server if it can be used. */
  const usable = (key: string) => {
    try {
      const server = servers.of(key);
      const watch = watches.get(server);
      return watch?.usable() ? { redis: server.redis as Scripted, watch } : undefined;
    } catch {
      return undefined;
    }
  };
  const withoutRedis = async (check: LimitCheck): Promise<LimitDecision> => ({
    ...(await local.check(check)),
    freshness: 'unknown',
  });
  const ask = (
    redis: Scripted,
    { workspaceId, environment, keyId, keyVersion, refused }: LimitCheck,
    rates: Rates,
    quota: number,
    { month, endsInSeconds }: ReturnType<typeof monthOf>,
  ) => {
    return redis.rmsCheck(
      markerKey({ workspaceId, keyId }),
      `rms:{${workspaceId}}:${refused ? 'refused' : 'rate'}:${keyId}`,
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
  /** Runs a command that must take effect, on the key's server. */
  const change = async (key: string, run: (redis: Scripted) => Promise<unknown>) => {
    try {
      await run(servers.of(key).redis as Scripted);
    } catch (error) {
      servers.failed(error);
      throw error;
    }
  };

  return {
    async check(check) {
      hasChecked = true;
      const used = usable(`{${check.workspaceId}}`);
      if (!used) return withoutRedis(check);
      const { redis, watch } = used;
      const { rates, quota } = appliedLimits(check, options);
      const month = monthOf(nowMs());
      // Read before the call: a confirmation that arrives during the call may cover a marker that was set after Redis
      // checked the request.
      const trustedUntilMs = watch.markersTrustedUntilMs();
      try {
        const reply = await traced(
          () => checkStep,
          () => withTimeout(ask(redis, check, rates, quota, month), checkTimeoutMs, 'Redis'),
        );
        const decision = toDecision(reply, rates, quota, month);
        // Compared after the response: once the trust has expired, a revocation can complete without a marker that this
        // check would have seen.
        const isTrusted = performance.now() < trustedUntilMs;
        return decision.freshness === 'current' && !isTrusted ? { ...decision, freshness: 'unknown' } : decision;
      } catch (error) {
        failed(watch, error);
        return withoutRedis(check);
      }
    },
    async countFailure(address) {
      if (!failureRate) return 0;
      const key = `rms:failures:${address}`;
      const used = usable(key);
      if (!used) return local.countFailure(address);
      try {
        const { emissionUs, burst } = failureRate;
        const counting = used.redis.rmsCountFailure(key, emissionUs, burst);
        const waitUs = await withTimeout(counting, checkTimeoutMs, 'Redis');
        return waitUs === 0 ? 0 : wholeSeconds(waitUs);
      } catch (error) {
        failed(used.watch, error);
        return local.countFailure(address);
      }
    },
    async setMarkers(changes) {
      const markers = changes.map((one) => change(markerKey(one), (redis) => setMarker(redis, one)));
      await withTimeout(Promise.all(markers), markerTimeoutMs, 'Redis');
    },
    nowMs,
    confirmMarkers: (setAll) => confirmMarkers(servers, setAll),
    confirmEveryMs: 1_000,
    async raiseQuotas(uses) {
      const raised = uses.map(({ workspaceId, environment, monthMs, used }) => {
        const { month, endsInSeconds } = monthOf(monthMs);
        const key = `rms:{${workspaceId}}:quota:${environment}:${month}`;
        return change(key, (redis) => redis.rmsRaiseQuota(key, used, endsInSeconds));
      });
      await withTimeout(Promise.all(raised), markerTimeoutMs, 'Redis');
    },
    onMarkersLost(listener) {
      markersLostListeners.add(listener);
      return () => markersLostListeners.delete(listener);
    },
    async healthy() {
      const pings = servers.all().map(({ redis }) => redis.ping());
      return withTimeout(Promise.all(pings), checkTimeoutMs, 'Redis').then(
        () => allWatches((watch) => !watch.lacksRights()),
        () => false,
      );
    },
    async start() {
      await servers.connect();
      await Promise.all([...watches.values()].map((watch) => watch.start()));
    },
    async stop() {
      servers.disconnect();
    },
  };
}

function toDecision(
  reply: CheckReply,
  { own, workspace }: Rates,
  monthlyQuota: number,
  { endsInSeconds }: ReturnType<typeof monthOf>,
): LimitDecision {
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
  const quota: LimitState | undefined =
    monthlyQuota > 0 ? { limit: monthlyQuota, remaining: quotaRemaining, resetSeconds: endsInSeconds } : undefined;
  if (outcome === 2) {
    return { ...common, outcome: 'quota_exceeded', quota, retryAfterSeconds: endsInSeconds };
  }
  return { ...common, outcome: 'allowed', quota };
}

function showDegradation(metrics: Metrics, degraded: () => boolean): void {
  new Gauge({
    name: 'rms_limiter_degraded',
    help: 'Whether limits are enforced locally, at an equal share, because Redis cannot be used.',
    registers: [metrics],
    collect() {
      this.set(degraded() ? 1 : 0);
    },
  });
}

export interface OpenLimiterOptions {
  readonly log: Logger;
  /** Registry for the degradation gauge. */
  readonly metrics?: Metrics;
}

/** Opens the limiter on the Redis named by the settings. Throws SettingsError. */
export function openLimiter(settings: Settings, { log, metrics }: OpenLimiterOptions): Limiter {
  return createRedisLimiter({
    ...readRedisAddress(settings, log),
    log,
    rateLimitRequests: settings.RATE_LIMIT_REQUESTS,
    workspaceRateLimitRequests: settings.WORKSPACE_RATE_LIMIT_REQUESTS,
    rateLimitWindowSeconds: settings.RATE_LIMIT_WINDOW_SECONDS,
    monthlyQuota: settings.MONTHLY_QUOTA,
    authFailureLimit: settings.AUTH_FAILURE_LIMIT,
    ...(metrics && { metrics }),
  });
}
