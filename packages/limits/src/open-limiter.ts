import { readRedisAddress } from '@rms/redis';
import type { Logger } from '@rms/runtime/logging';
import type { Metrics } from '@rms/runtime/metrics';
import type { Settings } from '@rms/runtime/settings';
import type { Limiter } from './limiter.ts';
import { createRedisLimiter } from './redis-limiter.ts';

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
