import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Settings, ShownSetting } from '@rms/runtime/settings';

/** Contents of the file services.json, which a running `npm start` or `npm run start:services` writes to DATA_DIR. */
export interface LocalServices {
  readonly auth?: string;
  readonly resources?: string;
  readonly webhooks?: string;
  readonly alerts?: string;
  /** Token that gRPC calls must carry. */
  readonly token?: string;
  /** The running process's settings, without secrets. */
  readonly settings?: readonly ShownSetting[];
}

/**
 * Returns the services that run on this machine. Empty if none run, or if the environment names other services. If it
 * points to the same ones, only their token.
 */
export function localServices({ DATA_DIR }: Pick<Settings, 'DATA_DIR'>): LocalServices {
  const { AUTH_ADDRESS: auth, WEBHOOKS_ADDRESS: webhooks } = process.env;
  const local = readServices(DATA_DIR);
  if (!auth && !webhooks) return local;
  const isSame = (auth && auth === local.auth) || (webhooks && webhooks === local.webhooks);
  return isSame && local.token !== undefined ? { token: local.token } : {};
}

function readServices(dataDir: string): LocalServices {
  try {
    return JSON.parse(readFileSync(join(dataDir, 'services.json'), 'utf8'));
  } catch {
    return {};
  }
}

/** Describes the installation that commands change, for confirmations on a machine with several. */
export function installationOf(settings: Pick<Settings, 'DATA_DIR' | 'AUTH_ADDRESS'>): string {
  const { auth } = localServices(settings);
  return auth === undefined ? `at ${settings.AUTH_ADDRESS}` : `in ${resolve(settings.DATA_DIR)}`;
}
