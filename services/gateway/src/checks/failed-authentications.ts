import { networkOf } from '@rms/base/cidr';
import { RmsError } from '@rms/base/errors';
import type { Limiter } from '@rms/limits';
import { LRUCache } from 'lru-cache';

/** Networks kept. With `max` instead, LRUCache would allocate all entries at the start. */
const bound = { maxSize: 100_000, sizeCalculation: () => 1 };

/** Key lookups in auth that an address over its limit may still cause per second. */
const lookupsPerSecond = 10;

/**
 * Limits failed authentications per client network, so that keys cannot be guessed. Over the limit, every further
 * failure gets 429, and only a few lookups of keys that were not valid recently reach auth per second.
 */
export class FailedAuthentications {
  readonly #limiter: Pick<Limiter, 'countFailure'>;
  readonly #perMinute: number;
  readonly #nowMs: () => number;
  readonly #refused = new LRUCache<string, Refused>(bound);

  /**
   * @param perMinute the limit that the limiter enforces, for the messages
   * @param nowMs returns monotonic milliseconds
   */
  constructor(limiter: Pick<Limiter, 'countFailure'>, perMinute: number, nowMs = () => performance.now()) {
    this.#limiter = limiter;
    this.#perMinute = perMinute;
    this.#nowMs = nowMs;
  }

  /** Counts a lookup in auth. Throws `rate_limit_exceeded` if the address may not cause one now. */
  admitLookup(address: string): void {
    const network = networkOf(address);
    const refused = this.#refusedNow(network);
    if (!refused) return;
    const nowMs = this.#nowMs();
    if (nowMs - refused.lookupsSinceMs >= 1000) {
      refused.lookupsSinceMs = nowMs;
      refused.lookups = 0;
    }
    refused.lookups += 1;
    if (refused.lookups > lookupsPerSecond) throw this.#tooMany(network, 1);
  }

  /** Counts a failed authentication. Throws `rate_limit_exceeded` if it exceeds the limit. */
  async count(address: string): Promise<void> {
    const network = networkOf(address);
    const refused = this.#refusedNow(network);
    if (refused) throw this.#tooMany(network, (refused.untilMs - this.#nowMs()) / 1000);
    const seconds = await this.#limiter.countFailure(network);
    if (seconds === 0) return;
    const untilMs = this.#nowMs() + seconds * 1000;
    this.#refused.set(network, { untilMs, lookupsSinceMs: this.#nowMs(), lookups: 0 });
    throw this.#tooMany(network, seconds);
  }

  #refusedNow(network: string): Refused | undefined {
    const refused = this.#refused.get(network);
    return refused && refused.untilMs > this.#nowMs() ? refused : undefined;
  }

  #tooMany(network: string, retryAfterSeconds: number): RmsError {
    const message =
      `Too many failed authentications from ${network} (limit: ${this.#perMinute} per minute). ` +
      `Retry in ${Math.ceil(retryAfterSeconds)} s.`;
    return new RmsError('rate_limit_exceeded', { message, retryAfterSeconds });
  }
}

/** A client network over its limit. Times in monotonic milliseconds. */
interface Refused {
  readonly untilMs: number;
  lookupsSinceMs: number;
  lookups: number;
}
