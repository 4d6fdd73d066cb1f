import { isDeepStrictEqual } from 'node:util';
import { parseSetting, type SettingName, type Settings, secretFilesOf } from './settings.ts';

/** Returns the current value. Logs when it has changed, and once when it cannot be read. */
export type Followed<T> = (log: FollowLog) => T;

/** A constant, or a function that returns the current value. */
export type Current<T extends string | object> = T | (() => T);

export function currentOf<T extends string | object>(value: Current<T>): T {
  return typeof value === 'function' ? (value as () => T)() : value;
}

/** Receives a followed value's changes, and failures to read it. */
export interface FollowLog {
  info(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface FollowOptions {
  /** Minimum interval between reads; default: every call reads. */
  readonly refreshMs?: number;
  readonly nowMs?: () => number;
}

export interface SecretOptions<T> extends FollowOptions {
  /** Throws if a new value is unusable; the previous value then stays in use. */
  readonly check?: (value: T) => void;
}

interface Source<T> {
  readonly first: T;
  readonly read: () => T;
  /** Setting or file, for the log. */
  readonly name: string;
}

/**
 * Follows a value that is read from files, so that a process uses the current content without a restart. While it
 * cannot be read, for example because a file is being replaced, the previous value stays in use.
 */
export function follow<T>(
  { first, read, name }: Source<T>,
  { refreshMs = 0, nowMs = () => performance.now() }: FollowOptions = {},
): Followed<T> {
  let value = first;
  let readAtMs = nowMs();
  let isFailing = false;
  return (log) => {
    if (refreshMs > 0 && nowMs() - readAtMs < refreshMs) return value;
    readAtMs = nowMs();
    try {
      const next = read();
      if (!isDeepStrictEqual(next, value)) {
        value = next;
        log.info({ setting: name }, 'setting reloaded from its file');
      }
      isFailing = false;
    } catch (error) {
      const reason = (error as Error).message;
      if (!isFailing) log.error({ setting: name, reason }, 'cannot reload a setting; keeping the previous value');
      isFailing = true;
    }
    return value;
  };
}

/**
 * Follows a secret that was read from NAME_FILE. By default each call reads the file again, so use it where connections
 * are made. A secret from the environment is constant.
 */
export function followSecret<Name extends SettingName>(
  settings: Settings,
  name: Name,
  { check = () => {}, ...options }: SecretOptions<Settings[Name]> = {},
): Followed<Settings[Name]> {
  const file = secretFilesOf(settings)[name];
  if (file === undefined) return () => settings[name];
  const read = () => {
    const value = parseSetting(name, file);
    // An empty file is being replaced. A process does not lose a store that it was started with.
    if ((value as unknown) === '' && (settings[name] as unknown) !== '')
      throw new Error(`the file of ${name} is empty`);
    check(value);
    return value;
  };
  return follow({ first: settings[name], read, name: `${name}_FILE` }, options);
}
