import { createPool, type Pool, roleName } from '@rms/db';
import { createRedisLimiter, type Limiter } from '@rms/limiter';
import { createRpcSecurity, type RpcSecurity } from '@rms/rpc';
import { createLogger, createMetrics, type Logger, type Metrics, requireSettings, type Settings } from '@rms/service';

export interface AuthContext {
  readonly pool: Pool;
  /** Where changes of keys are marked for every gateway. */
  readonly limiter: Pick<Limiter, 'mark' | 'confirmMarks' | 'start' | 'stop'>;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** How callers are known. */
  readonly security: RpcSecurity;
}

/** The real parts; a test or standalone passes its own for some of them. */
export function createAuthContext(settings: Settings, overrides: Partial<AuthContext> = {}): AuthContext {
  const log = overrides.log ?? createLogger({ name: 'auth', level: settings.LOG_LEVEL });
  return {
    log,
    metrics: overrides.metrics ?? createMetrics('auth'),
    security: overrides.security ?? createRpcSecurity(settings, log),
    pool: overrides.pool ?? createServicePool(settings, log),
    limiter: overrides.limiter ?? createServiceLimiter(settings, log),
  };
}

function createServicePool(settings: Settings, log: Logger): Pool {
  requireSettings(settings, 'DATABASE_URL');
  const prefix = settings.DATABASE_ROLE_PREFIX;
  const role = prefix && roleName(prefix, 'auth');
  return createPool({
    url: settings.DATABASE_URL,
    max: settings.DATABASE_POOL_SIZE,
    applicationName: 'rms-auth',
    role,
    log,
  });
}

function createServiceLimiter(settings: Settings, log: Logger): Limiter {
  requireSettings(settings, 'REDIS_URL');
  return createRedisLimiter({
    url: settings.REDIS_URL,
    log,
    rateLimitRequests: settings.RATE_LIMIT_REQUESTS,
    rateLimitWindowSeconds: settings.RATE_LIMIT_WINDOW_SECONDS,
    monthlyQuota: settings.MONTHLY_QUOTA,
    authFailureLimit: settings.AUTH_FAILURE_LIMIT,
  });
}
