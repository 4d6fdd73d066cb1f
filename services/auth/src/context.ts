import { type Limiter, openLimiter } from '@rms/limits';
import { openPool, type Pool } from '@rms/postgres/db';
import { createRpcSecurity, type RpcSecurity } from '@rms/rpc';
import { createLogger, type Logger } from '@rms/runtime/logging';
import { createMetrics, type Metrics } from '@rms/runtime/metrics';
import type { Settings } from '@rms/runtime/settings';
import { createPasswordHasher, type PasswordHasher } from './password/hasher.ts';

export interface AuthContext {
  readonly pool: Pool;
  /** Publishes the revocation markers of changed keys to every gateway. */
  readonly limiter: Pick<Limiter, 'setMarkers' | 'confirmMarkers' | 'confirmEveryMs' | 'start' | 'stop'>;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly passwords: PasswordHasher;
  /** Identifies and authorizes RPC callers. */
  readonly security: RpcSecurity;
}

/** Creates the production dependencies. Tests and standalone override some of them. */
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
