import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { networkOf } from '@rms/base/cidr';
import type { RpcContext } from '@rms/rpc';
import { makeToken } from '../token.ts';
import type { HandlerParts } from './handler.ts';

/**
 * Makes the link of an email that anybody can request for an address. Throws `rate_limit_exceeded` if the address, or
 * the network of the client, has requested too many.
 */
export async function makeRequestedLink(
  { pool, time, throttle }: Pick<HandlerParts, 'pool' | 'time' | 'throttle'>,
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
