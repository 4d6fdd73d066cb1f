import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';

/** What a logger may be told by name. */
const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;

interface Follower {
  readonly log: Logger;
  /** What holds while the file is empty. */
  readonly level: string;
}

const everyMs = 2_000;
const shownLength = 40;
const watches = new Map<string, LevelFile>();

/**
 * Sets a logger's level to what a file says, now and whenever that changes: one of the levels' names; an empty file leaves
 * `level`. Anything else, and a file that cannot be read, is said once and changes nothing. The file is read every two
 * seconds by its name, whatever that leads to by then: Kubernetes swaps a link when a ConfigMap changes.
 */
export function followLevelFile(file: string, follower: Follower): void {
  let watch = watches.get(file);
  if (!watch) {
    watch = new LevelFile(file);
    watches.set(file, watch);
  }
  watch.add(follower);
}

/** One file, for all loggers of the process. */
class LevelFile {
  readonly #file: string;
  readonly #followers: Follower[] = [];
  /** What was found last; "" at first. */
  #content = '';
  /** The last content that could be used. */
  #level = '';
  #reading = false;

  constructor(file: string) {
    this.#file = file;
    setInterval(() => void this.#look(), everyMs).unref();
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

  async #look(): Promise<void> {
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
      this.#say('warn', { found }, `LOG_LEVEL_FILE holds none of ${logLevels.join(', ')}; the level stays`);
      return;
    }
    if (content === this.#level) return;
    this.#level = content;
    for (const follower of this.#followers) this.#apply(follower);
    this.#say('info', { level_now: content || 'that of LOG_LEVEL' }, 'the level of the log has changed');
  }

  #unreadable(error: unknown): void {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    const content = `\0${code}`;
    if (content === this.#content) return;
    this.#content = content;
    this.#say('warn', { code }, 'LOG_LEVEL_FILE cannot be read; the level stays');
  }

  #apply({ log, level }: Follower): void {
    log.level = this.#level || level;
  }

  /** By one logger, for all. */
  #say(level: 'info' | 'warn', fields: object, message: string): void {
    this.#followers[0]?.log[level]({ file: this.#file, ...fields }, message);
  }
}
