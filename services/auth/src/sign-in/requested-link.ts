import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { networkOf } from '@rms/base/cidr';
import type { DatabaseTime, Pool } from '@rms/postgres/db';
import type { RpcContext } from '@rms/rpc';
import { makeToken } from '../token.ts';
import type { Throttle } from './throttle.ts';

/**
 * Makes the link of an email that anybody can request for an address. Throws `rate_limit_exceeded` if the address, or
 * the network of the client, has requested too many.
 */
export async function makeRequestedLink(
  { pool, time, throttle }: { pool: Pool; time: Pick<DatabaseTime, 'nowMs'>; throttle: Throttle },
  { clientAddress: address }: Pick<RpcContext, 'clientAddress'>,
  emailKey: string,
  lifetimeMs: number,
) {
  await throttle.take(pool, [
    { kind: 'mailAddress', of: networkOf(address) },
    { kind: 'mail', of: emailKey },
  ]);
  const { token, tokenHash } = makeToken();
  const expiresAt = new Date(time.nowMs() + lifetimeMs);
  return { tokenHash, expiresAt, value: { token, expireTime: timestampFromDate(expiresAt), address } };
}
