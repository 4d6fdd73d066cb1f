import { randomUUID } from 'node:crypto';
import { FairShare } from '@rms/async';
import { toRmsError } from '@rms/base/errors';
import type { Logger } from '@rms/runtime/logging';

/** Counts of a subject (a workspace in an environment, a webhook) within one minute. */
export interface Tally {
  /** Identifies the subject. */
  readonly key: string;
  readonly workspaceId: string;
  /** Start of the minute, in milliseconds since 1970. */
  readonly minuteMs: number;
}

/** A batch of counts for the service that stores them. A sequence number is never reused for different counts. */
export interface Report<T extends Tally> {
  readonly reporterId: string;
  /** Counts from 1. */
  readonly sequence: bigint;
  readonly tallies: readonly T[];
}

export interface UsageReporterOptions<T extends Tally> {
  /** Resolves once the counts are stored. A rejected report is sent again unchanged. */
  readonly send: (report: Report<T>) => Promise<unknown>;
  /** Adds the later counts of a subject to the earlier counts. */
  readonly add: (earlier: T, later: T) => void;
  readonly log: Logger;
  readonly now?: () => number;
  /** Monotonic clock in milliseconds; default: performance.now. */
  readonly elapsedMs?: () => number;
  /** Interval between reports; default: one second. */
  readonly flushEveryMs?: number;
}

const onceASecondMs = 1_000;
const minuteMs = 60_000;
/** Maximum number of tallies per report, at least {@link maxMinutes}. Larger reports block the event loop noticeably. */
const maxReportRows = 2_000;
/** Maximum number of subjects in the current interval, and of tallies waiting to be sent. */
const maxTallies = 50_000;
/**
 * Maximum number of waiting tallies of a workspace, so that a workspace with many webhooks leaves space to the others.
 */
const maxOfWorkspace = 5_000;
/**
 * Maximum time of retrying a report. Shorter than the seven days that the alerts service remembers stored
 * reports: after that time, it would count a report with a lost response twice.
 */
const maxRetryMs = 6 * 86_400_000;
/** Maximum number of waiting tallies per subject. */
const maxMinutes = 1_440;

/**
 * Adds up counts in memory and sends them once per `flushEveryMs`, so that callers never wait. Without counts, it does
 * nothing.
 *
 *   counting ──interval──► waiting ──previous report stored──► in flight ──response──► stored
 *                                                               └──no response──► sent again with the same number,
 *                                                                                 for up to six days
 *
 * A killed process loses the counts since its last report.
 */
export class UsageReporter<T extends Tally> {
  readonly #options: UsageReporterOptions<T>;
  readonly #now: () => number;
  readonly #elapsedMs: () => number;
  readonly #reporterId = randomUUID();
  #counting = new Map<string, T>();
  /** Waiting tallies of each subject, the latest minute last. */
  readonly #waiting = new Map<string, T[]>();
  /** Waiting tallies by workspace. */
  readonly #shares = new FairShare({ total: maxTallies, perTenant: maxOfWorkspace });
  #report: Report<T> | undefined;
  /** When #report was made, by the monotonic clock. */
  #reportCreatedAtMs = 0;
  #sequence = 0n;
  #flushing: Promise<void> | undefined;
  #started = false;
  /** Set while there is something to send. */
  #timer: NodeJS.Timeout | undefined;
  #unavailable = false;

  constructor(options: UsageReporterOptions<T>) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#elapsedMs = options.elapsedMs ?? (() => performance.now());
  }

  /**
   * Returns the current counts of a subject, to be incremented immediately; undefined if there are too many subjects.
   */
  tally(key: string, make: (key: string, minuteMs: number) => T): T | undefined {
    const known = this.#counting.get(key);
    if (known) return known;
    if (this.#counting.size >= maxTallies) return undefined;
    const now = this.#now();
    const created = make(key, now - (now % minuteMs));
    this.#counting.set(key, created);
    this.#flushLater();
    return created;
  }

  start(): void {
    this.#started = true;
    this.#flushLater();
  }

  #flushLater(): void {
    if (!this.#started || this.#timer) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.flush();
    }, this.#options.flushEveryMs ?? onceASecondMs).unref();
  }

  /** Sends the remaining counts, with one attempt. */
  async stop(): Promise<void> {
    this.#started = false;
    clearTimeout(this.#timer);
    await this.#flushing;
    await this.flush();
  }

  /** Sends the collected counts. Never rejects: unsent counts remain for the next attempt. */
  async flush(): Promise<void> {
    this.#gather();
    this.#flushing ??= this.#sendAll().finally(() => {
      this.#flushing = undefined;
      if (this.#report || this.#waiting.size > 0) this.#flushLater();
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
      // During a long outage, the counts of several minutes are merged into one before counts are lost.
      const isSameMinute = latest?.minuteMs === tally.minuteMs;
      const isAdded = !isSameMinute && (minutes?.length ?? 0) < maxMinutes && this.#shares.take(tally.workspaceId);
      if (isAdded && minutes) minutes.push(tally);
      else if (isAdded) this.#waiting.set(tally.key, [tally]);
      else if (latest) this.#options.add(latest, tally);
    }
  }

  async #sendAll(): Promise<void> {
    const { send, log } = this.#options;
    while (this.#report || this.#waiting.size > 0) {
      if (this.#report && this.#elapsedMs() - this.#reportCreatedAtMs > maxRetryMs) {
        log.error(
          { tallies: this.#report.tallies.length },
          'a usage report failed for six days; its counts may be lost',
        );
        this.#report = undefined;
        continue;
      }
      this.#report ??= this.#next();
      try {
        await send(this.#report);
        if (this.#unavailable) log.info('usage reporting recovered');
        this.#unavailable = false;
      } catch (err) {
        if (toRmsError(err).code !== 'invalid_request') {
          if (!this.#unavailable) log.warn({ err }, 'usage reporting failed; retrying');
          this.#unavailable = true;
          return;
        }
        log.error({ err }, 'a usage report was rejected; its counts are lost');
      }
      this.#report = undefined;
    }
  }

  #next(): Report<T> {
    const tallies: T[] = [];
    for (const [key, minutes] of this.#waiting) {
      if (tallies.length + minutes.length > maxReportRows) break;
      tallies.push(...minutes);
      this.#waiting.delete(key);
    }
    for (const { workspaceId } of tallies) this.#shares.release(workspaceId);
    this.#sequence += 1n;
    this.#reportCreatedAtMs = this.#elapsedMs();
    return { reporterId: this.#reporterId, sequence: this.#sequence, tallies };
  }
}
