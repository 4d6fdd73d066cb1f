import { readFileSync } from 'node:fs';
import { misspelledSettings } from './misspelled.ts';
import { checkText } from './setting-parsers.ts';
import { type Setting, settingsTable } from './settings-table.ts';

/** Reports invalid settings in one human-readable line. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

type Table = typeof settingsTable;

/** Name of a setting and of its environment variable. */
export type SettingName = keyof Table;

/** Files that secrets were read from. */
type SecretFiles = { readonly [Name in SettingName]?: string };

const secretFiles = Symbol('secret files');

/** All settings, parsed. Each service's config.ts picks its own. */
export type Settings = { readonly [Name in SettingName]: ReturnType<Table[Name]['parse']> } & {
  readonly [secretFiles]?: SecretFiles;
};

export const settingNames = Object.keys(settingsTable) as SettingName[];

/** Reads and checks all settings, or only `names`. Throws {@link SettingsError} that lists every invalid setting. */
export function readSettings(env: NodeJS.ProcessEnv, names: readonly SettingName[] = settingNames): Settings {
  const problems: string[] = [];
  const settings: Record<string, unknown> = {};
  const files: { [Name in SettingName]?: string } = {};
  for (const name of names) {
    try {
      const raw = rawValue(name, env);
      settings[name] = parse(name, raw);
      if (raw.file !== undefined) files[name] = raw.file;
    } catch (error) {
      problems.push(`${name}: ${(error as Error).message}`);
    }
  }
  if (settings.PORT !== undefined && settings.PORT === settings.SANDBOX_PORT) {
    problems.push(`SANDBOX_PORT: "${settings.SANDBOX_PORT}" is also PORT; each environment needs its own port`);
  }
  if (problems.length > 0) throw new SettingsError(problems.join('; '));
  return (Object.keys(files).length > 0 ? { ...settings, [secretFiles]: files } : settings) as Settings;
}

/** Returns the files that secrets were read from. Copies of the settings keep them. */
export function secretFilesOf(settings: Settings): SecretFiles {
  return settings[secretFiles] ?? {};
}

/** Reads and parses a secret of `file`. Throws an error with the setting's name, without the value. */
export function parseSetting<Name extends SettingName>(name: Name, file: string): Settings[Name] {
  try {
    return parse(name, { value: readSecretFile(name, file) }) as Settings[Name];
  } catch (error) {
    throw new Error(`${name}: ${(error as Error).message}`);
  }
}

/**
 * Reads the settings when a process starts, as {@link readSettings}. Before that, warns on stderr about environment
 * variables with a name one typing error from a setting's name.
 */
export function readStartSettings(env: NodeJS.ProcessEnv): Settings {
  for (const { given, meant } of misspelledSettings(env)) {
    process.stderr.write(`rms: ${given} is not a setting and has no effect; did you mean ${meant}?\n`);
  }
  return readSettings(env);
}

/** Checks that settings are not empty. Throws {@link SettingsError}. */
export function requireSettings(settings: Settings, ...names: SettingName[]): void {
  const missing = names.filter((name) => isEmpty(settings[name]));
  if (missing.length > 0) throw new SettingsError(`${missing.join(', ')} must be set`);
}

/** Runs `read` and converts its errors to {@link SettingsError}, with `about` before the message. */
export function orSettingsError<T>(read: () => T, about = ''): T {
  try {
    return read();
  } catch (error) {
    throw new SettingsError(`${about}${(error as Error).message}`);
  }
}

/** Setting as `rms config` shows it. */
export interface ShownSetting {
  readonly name: SettingName;
  /** "[secret]" for a secret that is set. */
  readonly value: string;
  readonly source: 'default' | 'environment' | 'file';
  readonly about: string;
}

/** Describes all settings for `rms config`. For a secret, shows only whether it is set. */
export function describeSettings(env: NodeJS.ProcessEnv): ShownSetting[] {
  return settingNames.map((name) => {
    const { value, source } = rawValue(name, env);
    return {
      name,
      value: isSecret(name) && value !== '' ? '[secret]' : value,
      source,
      about: settingsTable[name].about,
    };
  });
}

function parse(name: SettingName, { value }: { value: string }): unknown {
  try {
    checkText(value);
  } catch (error) {
    throw new Error(isSecret(name) ? (error as Error).message : `${JSON.stringify(value)} ${(error as Error).message}`);
  }
  return settingsTable[name].parse(value);
}

function isEmpty(value: unknown): boolean {
  return value === '' || value === undefined || (Array.isArray(value) && value.length === 0);
}

function isSecret(name: SettingName): boolean {
  return (settingsTable[name] as Setting).secret === true;
}

interface RawValue {
  readonly value: string;
  readonly source: ShownSetting['source'];
  readonly file?: string;
}

function rawValue(name: SettingName, env: NodeJS.ProcessEnv): RawValue {
  const value = env[name];
  const { fallbacks = [], isStandard } = settingsTable[name] as Setting;
  if (value !== undefined && value !== '')
    return { value: isStandard ? withoutBlanks(value) : value, source: 'environment' };
  const file = isSecret(name) ? env[`${name}_FILE`] : undefined;
  if (file) return { value: readSecretFile(name, file), source: 'file', file };
  for (const fallback of fallbacks) {
    const standard = env[fallback];
    if (standard) return { value: withoutBlanks(standard), source: 'environment' };
  }
  return { value: settingsTable[name].default, source: 'default' };
}

function readSecretFile(name: SettingName, file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    throw new Error(`${name}_FILE cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** Returns the normal form of a system variable, which other programs also read, with their own tolerance. */
function withoutBlanks(value: string): string {
  return value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .join(',');
}
