import { randomBytes } from 'node:crypto';
import { readAlertsConfig } from '@rms/alerts';
import { readAuthConfig } from '@rms/auth';
import { readDashboardConfig } from '@rms/dashboard';
import { readGatewayConfig } from '@rms/gateway';
import { readResourcesConfig } from '@rms/resources';
import { type Settings, SettingsError } from '@rms/runtime/settings';
import { readWebhooksConfig } from '@rms/webhooks';

/** Reads the configurations of all services. Throws SettingsError for an invalid setting. */
export function readConfigs(settings: Settings) {
  return {
    auth: readAuthConfig(settings),
    alerts: readAlertsConfig(settings),
    resources: readResourcesConfig(settings),
    // The embedded database has no other clients, so leases of the previous process can be released immediately.
    webhooks: { ...readWebhooksConfig(settings), releaseLeases: settings.DATABASE_URL === '' },
    gateway: readGatewayConfig(settings),
    dashboard: readDashboardConfig(settings),
  };
}

/**
 * Throws SettingsError if a service would refuse the settings. Called before DATA_DIR is opened, so that the error
 * comes first, and a refused start leaves no file.
 */
export function checkConfigs(settings: Settings): void {
  if (settings.REDIS_URL === '' && (settings.REDIS_SENTINELS.length > 0 || settings.REDIS_CLUSTER))
    throw new SettingsError('REDIS_SENTINELS or REDIS_CLUSTER is set, but REDIS_URL is not');
  // The first start creates a key in DATA_DIR if it has none.
  const ENCRYPTION_KEY = settings.ENCRYPTION_KEY || randomBytes(32).toString('base64');
  readConfigs({ ...settings, ENCRYPTION_KEY });
}
