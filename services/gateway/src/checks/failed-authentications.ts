import { RmsError } from '@rms/errors';
import type { Limiter } from '@rms/limiter';
import { LRUCache } from 'lru-cache';

const addressesKept = 100_000;

/** What an address that is over its limit may still ask auth about. */
const lookUpsPerSecond = 10;

/**
 * Limits failed authentications by address, so that keys cannot be guessed. An address that had too many gets 429 for
 * every further one, and auth is asked about few of the keys that it sends; those that are valid pass all the same.
 */
export class FailedAuthentications {
  readonly #limiter: Pick<Limiter, 'countFailure'>;
  readonly #refused = new LRUCache<string, Refused>({ max: addressesKept });

  constructor(limiter: Pick<Limiter, 'countFailure'>) {
    this.#limiter = limiter;
  }

  /** Before auth is asked about a key. Throws `rate_limit_exceeded`. */
  admitLookUp(address: string): void {
    const refused = this.#refusedNow(networkOf(address));
    if (!refused) return;
    const nowMs = performance.now();
    if (nowMs - refused.lookUpsSinceMs >= 1000) {
      refused.lookUpsSinceMs = nowMs;
      refused.lookUps = 0;
    }
    refused.lookUps += 1;
    if (refused.lookUps > lookUpsPerSecond) throw tooMany(1);
  }

  /** Counts one. Throws `rate_limit_exceeded` if it is one too many. */
  async count(address: string): Promise<void> {
    const network = networkOf(address);
    const refused = this.#refusedNow(network);
    if (refused) throw tooMany((refused.untilMs - performance.now()) / 1000);
    const seconds = await this.#limiter.countFailure(network);
    if (seconds === 0) return;
    const untilMs = performance.now() + seconds * 1000;
    this.#refused.set(network, { untilMs, lookUpsSinceMs: 0, lookUps: 0 });
    throw tooMany(seconds);
  }

  #refusedNow(network: string): Refused | undefined {
    const refused = this.#refused.get(network);
    return refused && refused.untilMs > performance.now() ? refused : undefined;
  }
}

/** An address that had too many. Times in milliseconds of performance.now(). */
interface Refused {
  readonly untilMs: number;
  lookUpsSinceMs: number;
  lookUps: number;
}

/** An IPv4 address, or the /64 of an IPv6 address: whoever has one address of that has them all. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail = ''] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const rest = tail === '' ? [] : tail.split(':');
  const middle = address.includes('::') ? Array<string>(Math.max(0, 8 - groups.length - rest.length)).fill('0') : [];
  return `${[...groups, ...middle, ...rest].slice(0, 4).join(':')}::/64`;
}

function tooMany(retryAfterSeconds: number): RmsError {
  return new RmsError('rate_limit_exceeded', {
    message: 'Too many failed authentications from this address.',
    retryAfterSeconds,
  });
}
