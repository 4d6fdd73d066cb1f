import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';

/** Log levels that can be set by name. */
const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;

interface Follower {
  readonly log: Logger;
  /** Level while the file is empty. */
  readonly level: string;
}

const everyMs = 2_000;
const shownLength = 40;
const watches = new Map<string, LevelFile>();

/**
 * Sets a logger's level from a file, immediately and whenever the content changes. The content is a level's name;
 * an empty file restores `level`. Invalid content, or an unreadable file, is logged once and changes nothing. The file
 * is read by its path every two seconds, because Kubernetes replaces a symbolic link when a ConfigMap changes.
 */
export function followLevelFile(file: string, follower: Follower): void {
  let watch = watches.get(file);
  if (!watch) {
    watch = new LevelFile(file);
    watches.set(file, watch);
  }
  watch.add(follower);
}

/** Watches one file for all loggers of the process. */
class LevelFile {
  readonly #file: string;
  readonly #followers: Follower[] = [];
  /** Content at the last read; initially "". */
  #content = '';
  /** The last valid content. */
  #level = '';
  #reading = false;

  constructor(file: string) {
    this.#file = file;
    setInterval(() => void this.#check(), everyMs).unref();
  }

  add(follower: Follower): void {
    this.#followers.push(follower);
    if (this.#followers.length > 1) {
      this.#apply(follower);
      return;
    }
    try {
      this.#found(readFileSync(this.#file, 'utf8'));
    } catch (error) {
      this.#unreadable(error);
    }
  }

  async #check(): Promise<void> {
    if (this.#reading) return;
    this.#reading = true;
    await readFile(this.#file, 'utf8').then(
      (text) => this.#found(text),
      (error: unknown) => this.#unreadable(error),
    );
    this.#reading = false;
  }

  #found(text: string): void {
    const content = text.trim().toLowerCase();
    if (content === this.#content) return;
    this.#content = content;
    if (content !== '' && !logLevels.some((level) => level === content)) {
      const found = content.slice(0, shownLength);
      this.#say('warn', { found }, `LOG_LEVEL_FILE contains none of ${logLevels.join(', ')}; the level is unchanged`);
      return;
    }
    if (content === this.#level) return;
    this.#level = content;
    for (const follower of this.#followers) this.#apply(follower);
    this.#say('info', { new_level: content || 'LOG_LEVEL' }, 'log level changed');
  }

  #unreadable(error: unknown): void {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    const content = `\0${code}`;
    if (content === this.#content) return;
    this.#content = content;
    this.#say('warn', { code }, 'cannot read LOG_LEVEL_FILE; the level is unchanged');
  }

  #apply({ log, level }: Follower): void {
    log.level = this.#level || level;
  }

  /** Logs once, through the first logger. */
  #say(level: 'info' | 'warn', fields: object, message: string): void {
    this.#followers[0]?.log[level]({ file: this.#file, ...fields }, message);
  }
}
