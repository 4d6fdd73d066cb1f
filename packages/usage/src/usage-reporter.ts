import { randomUUID } from 'node:crypto';
import { toRmsError } from '@rms/errors';
import type { Logger } from '@rms/service';

/** What is counted for one thing (a workspace in an environment, a webhook) within one minute. */
export interface Tally {
  /** Names the thing. */
  readonly key: string;
  /** When its minute began, in milliseconds since 1970. */
  readonly minuteMs: number;
}

/** What goes to the service that keeps the counts; the same number is never used for other counts. */
export interface Report<T extends Tally> {
  readonly reporterId: string;
  /** Counts from 1. */
  readonly sequence: bigint;
  readonly tallies: readonly T[];
}

export interface UsageReporterOptions<T extends Tally> {
  /** Resolves once the counts are safe. A report that it rejects is sent again as it is. */
  readonly send: (report: Report<T>) => Promise<unknown>;
  /** Adds the later counts of a thing to the earlier ones. */
  readonly add: (earlier: T, later: T) => void;
  readonly log: Logger;
  readonly now?: () => number;
  /** How often what has come together is sent; default: once a second. */
  readonly flushEveryMs?: number;
}

const onceASecondMs = 1_000;
const minuteMs = 60_000;
/** Of one report. */
const largestReport = 10_000;
/** Things that are counted at once, and counts that wait while they cannot be sent. */
const mostTallies = 50_000;
/** Of one thing that wait. */
const mostMinutes = 1_440;

/**
 * Adds up in memory and sends what has come together once a second, or as often as it is told: whoever counts waits for nothing.
 *
 *   counting ──now and then──► waiting ──the report before is safe──► on its way ──answered──► safe
 *                                                                       └──no answer──► sent again, with its number
 *
 * A process that is killed loses what it has counted since its last report.
 */
export class UsageReporter<T extends Tally> {
  readonly #options: UsageReporterOptions<T>;
  readonly #now: () => number;
  readonly #reporterId = randomUUID();
  #counting = new Map<string, T>();
  /** The minutes of each thing, the latest last. */
  readonly #waiting = new Map<string, T[]>();
  #waitingCount = 0;
  #report: Report<T> | undefined;
  #sequence = 0n;
  #flushing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #away = false;

  constructor(options: UsageReporterOptions<T>) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** The counts of a thing, to add to at once; undefined when there are too many things to tell apart. */
  tally(key: string, make: (key: string, minuteMs: number) => T): T | undefined {
    const known = this.#counting.get(key);
    if (known) return known;
    if (this.#counting.size >= mostTallies) return undefined;
    const now = this.#now();
    const made = make(key, now - (now % minuteMs));
    this.#counting.set(key, made);
    return made;
  }

  start(): void {
    this.#timer = setInterval(() => void this.flush(), this.#options.flushEveryMs ?? onceASecondMs).unref();
  }

  /** Sends what is left, once. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#flushing;
    await this.flush();
  }

  /** Sends what has come together. Never rejects: what cannot be sent waits for the next time. */
  async flush(): Promise<void> {
    this.#gather();
    this.#flushing ??= this.#sendAll().finally(() => {
      this.#flushing = undefined;
    });
    await this.#flushing;
  }

  #gather(): void {
    const counted = this.#counting;
    if (counted.size === 0) return;
    this.#counting = new Map();
    for (const tally of counted.values()) {
      const minutes = this.#waiting.get(tally.key);
      const latest = minutes?.at(-1);
      // After a long time without answers counts lose their minute before they are lost themselves.
      const isFull = this.#waitingCount >= mostTallies || (minutes?.length ?? 0) >= mostMinutes;
      if (latest && (isFull || latest.minuteMs === tally.minuteMs)) this.#options.add(latest, tally);
      else if (!isFull) {
        if (minutes) minutes.push(tally);
        else this.#waiting.set(tally.key, [tally]);
        this.#waitingCount += 1;
      }
    }
  }

  async #sendAll(): Promise<void> {
    const { send, log } = this.#options;
    while (this.#report || this.#waiting.size > 0) {
      this.#report ??= this.#next();
      try {
        await send(this.#report);
        if (this.#away) log.info('usage is reported again');
        this.#away = false;
      } catch (err) {
        if (toRmsError(err).code !== 'invalid_request') {
          if (!this.#away) log.warn({ err }, 'usage cannot be reported; counts wait');
          this.#away = true;
          return;
        }
        log.error({ err }, 'a report of usage was refused; its counts are lost');
      }
      this.#report = undefined;
    }
  }

  #next(): Report<T> {
    const tallies: T[] = [];
    for (const [key, minutes] of this.#waiting) {
      if (tallies.length + minutes.length > largestReport) break;
      tallies.push(...minutes);
      this.#waiting.delete(key);
    }
    this.#waitingCount -= tallies.length;
    this.#sequence += 1n;
    return { reporterId: this.#reporterId, sequence: this.#sequence, tallies };
  }
}
