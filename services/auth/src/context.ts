import { openPool, type Pool } from '@rms/db';
import { type Limiter, openLimiter } from '@rms/limiter';
import { createRpcSecurity, type RpcSecurity } from '@rms/rpc';
import { createLogger, createMetrics, type Logger, type Metrics, type Settings } from '@rms/service';
import { createPasswordHasher, type PasswordHasher } from './password/hasher.ts';

export interface AuthContext {
  readonly pool: Pool;
  /** Where changes of keys are marked for every gateway. */
  readonly limiter: Pick<Limiter, 'mark' | 'confirmMarks' | 'start' | 'stop'>;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly passwords: PasswordHasher;
  /** How callers are known. */
  readonly security: RpcSecurity;
}

/** The real parts; a test or standalone passes its own for some of them. */
export function createAuthContext(settings: Settings, overrides: Partial<AuthContext> = {}): AuthContext {
  const log =
    overrides.log ?? createLogger({ name: 'auth', level: settings.LOG_LEVEL, levelFile: settings.LOG_LEVEL_FILE });
  return {
    log,
    metrics: overrides.metrics ?? createMetrics('auth'),
    passwords: overrides.passwords ?? createPasswordHasher(),
    security: overrides.security ?? createRpcSecurity(settings, log),
    pool: overrides.pool ?? openPool(settings, { name: 'rms-auth', role: 'auth', log }),
    limiter: overrides.limiter ?? openLimiter(settings, { log }),
  };
}
