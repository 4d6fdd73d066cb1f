import { type KeyRing, readKeyRing } from '@rms/base/secrets';
import { orSettingsError, requireSettings, type Settings } from './settings.ts';

/**
 * Returns the master keys of ENCRYPTION_KEY and ENCRYPTION_KEY_PREVIOUS. Throws a SettingsError if there is no current
 * key, or if a key is malformed.
 */
export function readEncryptionKeys(settings: Settings): KeyRing {
  requireSettings(settings, 'ENCRYPTION_KEY');
  return orSettingsError(() => readKeyRing(settings.ENCRYPTION_KEY, settings.ENCRYPTION_KEY_PREVIOUS));
}
