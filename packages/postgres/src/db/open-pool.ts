import type { Logger } from '@rms/runtime/logging';
import { followSecret, followTlsFiles, requireSettings, type Settings } from '@rms/runtime/settings';
import { connectionOptions } from './connection-options.ts';
import { createPool, type PoolOptions } from './pool.ts';
import type { Pool } from './queryable.ts';
import { roleName, type ServiceRole } from './roles.ts';

export interface OpenPoolOptions {
  /** Application name, shown in pg_stat_activity. */
  readonly name: string;
  /** Service with the role that the sessions assume if DATABASE_ROLE_PREFIX is set; unset: the login's role. */
  readonly role?: ServiceRole;
  /** Maximum number of connections; default: DATABASE_POOL_SIZE. */
  readonly max?: number;
  /** See {@link PoolOptions}. */
  readonly plans?: PoolOptions['plans'];
  readonly log: Logger;
}

/** Opens a pool on the database named by the settings. Throws SettingsError if DATABASE_URL is missing or unusable. */
export function openPool(settings: Settings, { name, role, max, plans, log }: OpenPoolOptions): Pool {
  requireSettings(settings, 'DATABASE_URL');
  const { DATABASE_POOL_SIZE: poolSize, DATABASE_ROLE_PREFIX: prefix } = settings;
  const tls = followTlsFiles(settings, 'DATABASE');
  const check = (next: string) => void connectionOptions(next, tls(log), '');
  const url = followSecret(settings, 'DATABASE_URL', { check });
  return createPool({
    url: () => url(log),
    tls: () => tls(log),
    max: max ?? poolSize,
    applicationName: name,
    role: role && prefix && roleName(prefix, role),
    plans,
    log,
  });
}
