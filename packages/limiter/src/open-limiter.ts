import type { Logger, Metrics, Settings } from '@rms/service';
import type { Limiter } from './limiter.ts';
import { readRedisSettings } from './open-redis.ts';
import { createRedisLimiter } from './redis-limiter.ts';

export interface OpenLimiterOptions {
  readonly log: Logger;
  /** Gets the gauge that says whether limits are kept locally. */
  readonly metrics?: Metrics;
}

/** The limiter on the Redis that the settings name. Throws SettingsError. */
export function openLimiter(settings: Settings, { log, metrics }: OpenLimiterOptions): Limiter {
  return createRedisLimiter({
    ...readRedisSettings(settings),
    log,
    rateLimitRequests: settings.RATE_LIMIT_REQUESTS,
    rateLimitWindowSeconds: settings.RATE_LIMIT_WINDOW_SECONDS,
    monthlyQuota: settings.MONTHLY_QUOTA,
    authFailureLimit: settings.AUTH_FAILURE_LIMIT,
    ...(metrics && { metrics }),
  });
}
