import { type Logger, readTlsFiles, requireSettings, type Settings } from '@rms/service';
import { createPool, type PoolOptions } from './pool.ts';
import type { Pool } from './queryable.ts';
import { roleName, type ServiceRole } from './roles.ts';

export interface OpenPoolOptions {
  /** Shown in pg_stat_activity. */
  readonly name: string;
  /** Whose role the sessions take on where DATABASE_ROLE_PREFIX names roles; unset: that of the login. */
  readonly role?: ServiceRole;
  /** Connections at most; default: DATABASE_POOL_SIZE. */
  readonly max?: number;
  /** See {@link PoolOptions}. */
  readonly plans?: PoolOptions['plans'];
  readonly log: Logger;
}

/** A pool on the database that the settings name. Throws SettingsError. */
export function openPool(settings: Settings, { name, role, max, plans, log }: OpenPoolOptions): Pool {
  requireSettings(settings, 'DATABASE_URL');
  const { DATABASE_URL: url, DATABASE_POOL_SIZE: poolSize, DATABASE_ROLE_PREFIX: prefix } = settings;
  return createPool({
    url,
    tls: readTlsFiles(settings, 'DATABASE'),
    max: max ?? poolSize,
    applicationName: name,
    role: role && prefix && roleName(prefix, role),
    plans,
    log,
  });
}
