import { followCaFile, orSettingsError, type Settings } from '@rms/runtime/settings';
import { createProxyChoice, followProxy } from '../dial/index.ts';
import { readGuardConfig } from '../egress/index.ts';
import type { EgressConfig } from './egress.ts';

/** Throws {@link SettingsError} with the invalid setting's name. */
export function readEgressConfig(settings: Settings): EgressConfig {
  const { WEBHOOK_NO_PROXY: noProxy } = settings;
  const proxy = followProxy(settings, 'WEBHOOK_PROXY_URL');
  orSettingsError(() => createProxyChoice(undefined, noProxy), 'WEBHOOK_NO_PROXY: ');
  const ca = followCaFile(settings, 'WEBHOOK_CA_FILE');
  return { ...readGuardConfig(settings), noProxy, ...(proxy ? { proxy } : {}), ...(ca ? { ca } : {}) };
}
