import type { Queryable } from '@rms/db';
import { RmsError } from '@rms/errors';
import { isKnownNetwork } from './network-queries.ts';
import { type Attempt, networkOf, type Throttle } from './throttle.ts';

/**
 * A password that is tried for an account, from an address. Where the user has signed in from that network of late, the
 * failures of others do not count: nobody can keep people out by guessing.
 */
export async function passwordAttempts(db: Queryable, emailKey: string, clientAddress: string): Promise<Attempt[]> {
  const network = networkOf(clientAddress);
  const isKnown = await isKnownNetwork(db, emailKey, network);
  return [
    { kind: 'address', of: network },
    { kind: 'account', of: isKnown ? `${emailKey} ${network}` : emailKey },
  ];
}

/**
 * What is behind the token of a link. Throws `not_found`, which says nothing of why, and `rate_limit_exceeded` for an
 * address that has brought many of which nothing was behind.
 */
export async function behindLink<T>(
  { pool, throttle }: { readonly pool: Queryable; readonly throttle: Throttle },
  clientAddress: string,
  find: () => Promise<T | undefined>,
): Promise<T> {
  const attempts: Attempt[] = [{ kind: 'address', of: networkOf(clientAddress) }];
  await throttle.take(pool, attempts);
  const found = validLink(await find());
  await throttle.giveBack(pool, attempts);
  return found;
}

/** What is behind the token of a link, or `not_found`. */
export function validLink<T>(thing: T | undefined): T {
  if (thing !== undefined) return thing;
  throw new RmsError('not_found', { message: 'This link is not valid any more: it was used, or has run out.' });
}
