import { RmsError } from '@rms/errors';
import type { Limiter } from '@rms/limiter';
import { LRUCache } from 'lru-cache';

const addressesKept = 100_000;

/**
 * Limits failed authentications by address, so that keys cannot be guessed. An address that had too many is refused
 * before auth is asked; keys that this gateway knows to be valid pass all the same.
 */
export class FailedAuthentications {
  readonly #limiter: Pick<Limiter, 'countFailure'>;
  /** Until when an address is refused, in milliseconds of performance.now(). */
  readonly #refusedUntilMs = new LRUCache<string, number>({ max: addressesKept });

  constructor(limiter: Pick<Limiter, 'countFailure'>) {
    this.#limiter = limiter;
  }

  /** Throws `rate_limit_exceeded` for an address that had too many. */
  refuse(address: string): void {
    const untilMs = this.#refusedUntilMs.get(networkOf(address));
    if (untilMs === undefined) return;
    const leftMs = untilMs - performance.now();
    if (leftMs > 0) throw tooMany(leftMs / 1000);
  }

  /** Counts one. Throws `rate_limit_exceeded` if it is one too many. */
  async count(address: string): Promise<void> {
    this.refuse(address);
    const network = networkOf(address);
    const seconds = await this.#limiter.countFailure(network);
    if (seconds === 0) return;
    this.#refusedUntilMs.set(network, performance.now() + seconds * 1000);
    throw tooMany(seconds);
  }
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
