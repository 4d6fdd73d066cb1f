import type { Queryable } from '@rms/db';
import { isKnownNetwork } from './network-queries.ts';
import { type Attempt, networkOf } from './throttle.ts';

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
