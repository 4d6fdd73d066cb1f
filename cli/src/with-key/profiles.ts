import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** An installation and an API key. */
export interface Profile {
  /** Base address without "/v1". */
  readonly url: string;
  readonly api_key: string;
}

/** The profile of commands that name none. */
export const defaultProfile = 'default';

function folder(env: NodeJS.ProcessEnv): string {
  return join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'rms');
}

/** Path of the file with the profiles. */
export function profilesFile(env: NodeJS.ProcessEnv = process.env): string {
  return join(folder(env), 'profiles.json');
}

/** Reads all profiles by name. Throws an error that identifies the file if it is not readable. */
export function readProfiles(env: NodeJS.ProcessEnv = process.env): Readonly<Record<string, Profile>> {
  const file = profilesFile(env);
  try {
    const stored: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (isProfiles(stored)) return stored;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
  }
  throw new Error(`${file} is not a readable file of profiles; repair or delete it.`);
}

function isProfiles(stored: unknown): stored is Readonly<Record<string, Profile>> {
  if (typeof stored !== 'object' || stored === null || Array.isArray(stored)) return false;
  return Object.values(stored).every((one) => typeof one?.url === 'string' && typeof one.api_key === 'string');
}

/** Stores all profiles. Only the user can read the file, also while it is written. */
export function writeProfiles(profiles: Readonly<Record<string, Profile>>): void {
  const file = profilesFile();
  mkdirSync(folder(process.env), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${process.pid}`;
  rmSync(temporary, { force: true });
  writeFileSync(temporary, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(temporary, file);
}
