export {
  describeSettings,
  orSettingsError,
  readSettings,
  requireSettings,
  type SettingName,
  type Settings,
  SettingsError,
  settingNames,
} from './settings.ts';
export { clientTls, followCaFile, readCaFile, readTlsFiles, type TlsFiles } from './tls-files.ts';
