import { networkOf } from '@rms/base/cidr';
import { RmsError } from '@rms/base/errors';
import type { Queryable } from '@rms/postgres/db';
import { isKnownNetwork } from './network-queries.ts';
import type { Attempt, Throttle } from './throttle.ts';

/** A sign-in attempt that was admitted. */
export interface AdmittedAttempt {
  /** Counted attempts. The caller refunds them on success. */
  readonly attempts: readonly Attempt[];
  /**
   * If set, the caller must report a wrong password with this error, so that the response does not reveal that the
   * network is known.
   */
  readonly failure: RmsError | undefined;
}

/**
 * Counts a password attempt. Throws `rate_limit_exceeded` if it exceeds a limit.
 *
 * If the user has recently signed in from this network, attempts are counted per account and network; otherwise an
 * attacker could lock users out by guessing wrong passwords. Such a user is also admitted when the network has exceeded
 * its limit across all accounts, because many clients can share a network.
 */
export async function admitPassword(
  { pool, throttle }: { readonly pool: Queryable; readonly throttle: Throttle },
  emailKey: string,
  clientAddress: string,
): Promise<AdmittedAttempt> {
  const network = networkOf(clientAddress);
  const isKnown = await isKnownNetwork(pool, emailKey, network);
  const account: Attempt = { kind: 'account', of: isKnown ? `${emailKey} ${network}` : emailKey };
  const address: Attempt = { kind: 'address', of: network };
  const failure = await excessOf(() => throttle.take(pool, [address]));
  if (failure && !isKnown) throw failure;
  const locked = await excessOf(() => throttle.take(pool, [account]));
  if (locked) throw failure ?? locked;
  return { attempts: failure ? [account] : [address, account], failure };
}

/** Returns the `rate_limit_exceeded` error of `take`, if it throws one. */
async function excessOf(take: () => Promise<void>): Promise<RmsError | undefined> {
  try {
    await take();
    return undefined;
  } catch (error) {
    if (error instanceof RmsError && error.code === 'rate_limit_exceeded') return error;
    throw error;
  }
}

/**
 * Looks up a link token's object. Throws `not_found`, without the reason, if the token is invalid, and
 * `rate_limit_exceeded` if the client's network has tried too many invalid tokens.
 */
export async function behindLink<T>(
  { pool, throttle }: { readonly pool: Queryable; readonly throttle: Throttle },
  clientAddress: string,
  find: () => Promise<T | undefined>,
): Promise<T> {
  const attempts: Attempt[] = [{ kind: 'address', of: networkOf(clientAddress) }];
  await throttle.take(pool, attempts);
  const found = validLink(await find());
  await throttle.release(pool, attempts);
  return found;
}

/** Returns `thing`, or throws `not_found` if it is undefined. */
export function validLink<T>(thing: T | undefined): T {
  if (thing !== undefined) return thing;
  throw new RmsError('not_found', { message: 'This link is no longer valid: it was already used or has expired.' });
}
