import { type Logger, type Metrics, readTlsFiles, requireSettings, type Settings, SettingsError } from '@rms/service';
import { isTls } from './connect-later.ts';
import type { Limiter } from './limiter.ts';
import { createRedisLimiter } from './redis-limiter.ts';

export interface OpenLimiterOptions {
  readonly log: Logger;
  /** Gets the gauge that says whether limits are kept locally. */
  readonly metrics?: Metrics;
}

/** The limiter on the Redis that the settings name. Throws SettingsError. */
export function openLimiter(settings: Settings, { log, metrics }: OpenLimiterOptions): Limiter {
  requireSettings(settings, 'REDIS_URL');
  const { REDIS_URL: url } = settings;
  const tls = readTlsFiles(settings, 'REDIS');
  if (!isTls(url) && (tls.ca || tls.cert)) {
    const name = tls.ca ? 'REDIS_CA_FILE' : 'REDIS_CERT_FILE';
    throw new SettingsError(`${name} is set, but REDIS_URL is redis://, without TLS; rediss:// is with it`);
  }
  return createRedisLimiter({
    url,
    tls,
    log,
    rateLimitRequests: settings.RATE_LIMIT_REQUESTS,
    rateLimitWindowSeconds: settings.RATE_LIMIT_WINDOW_SECONDS,
    monthlyQuota: settings.MONTHLY_QUOTA,
    authFailureLimit: settings.AUTH_FAILURE_LIMIT,
    ...(metrics && { metrics }),
  });
}
