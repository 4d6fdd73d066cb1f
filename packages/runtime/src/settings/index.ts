export { readEncryptionKeys } from './encryption-keys.ts';
export { type Current, currentOf, type Followed, type FollowLog, follow, followSecret } from './follow.ts';
export {
  describeSettings,
  orSettingsError,
  readSettings,
  readStartSettings,
  requireSettings,
  type SettingName,
  type Settings,
  SettingsError,
  type ShownSetting,
  settingNames,
} from './settings.ts';
export { clientTls, followCaFile, followTlsFiles, readCaFile, readTlsFiles, type TlsFiles } from './tls-files.ts';
