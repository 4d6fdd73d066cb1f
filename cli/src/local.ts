import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Settings, ShownSetting } from '@rms/settings';

/** Service addresses and settings that a running `npm start` writes to services.json in DATA_DIR. */
export interface LocalServices {
  readonly auth?: string;
  readonly resources?: string;
  readonly webhooks?: string;
  readonly alerts?: string;
  /** The settings of the running process, without secrets. */
  readonly settings?: readonly ShownSetting[];
}

/**
 * Returns the services of a running `npm start`. Empty if none runs, or if the environment names other services.
 */
export function localServices({ DATA_DIR }: Pick<Settings, 'DATA_DIR'>): LocalServices {
  if (process.env.AUTH_ADDRESS || process.env.WEBHOOKS_ADDRESS) return {};
  try {
    return JSON.parse(readFileSync(join(DATA_DIR, 'services.json'), 'utf8'));
  } catch {
    return {};
  }
}

/** Describes the installation that commands change, for confirmations on a machine with several. */
export function installationOf(settings: Pick<Settings, 'DATA_DIR' | 'AUTH_ADDRESS'>): string {
  const { auth } = localServices(settings);
  return auth === undefined ? `at ${settings.AUTH_ADDRESS}` : `in ${resolve(settings.DATA_DIR)}`;
}
