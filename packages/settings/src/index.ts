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
export { clientTls, followCaFile, readCaFile, readTlsFiles, type TlsFiles } from './tls-files.ts';
