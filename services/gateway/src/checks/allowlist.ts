import { RmsError } from '@rms/base/errors';
import type { Logger } from '@rms/runtime/logging';
import type { Locals } from '../http/locals.ts';
import type { Caller } from './principals.ts';

const shownOfHeader = 200;

/**
 * Returns the error for a client address that the key does not allow. The log entry contains the address, its source
 * and the reason for choosing it.
 */
export function checkAllowlist(
  { allowedIps, principal }: Pick<Caller, 'allowedIps' | 'principal'>,
  locals: Pick<Locals, 'requestId' | 'client'>,
  log: Logger,
): RmsError | undefined {
  if (allowedIps.empty) return undefined;
  const { address, determinedBy, peer, reason, forwarded } = locals.client();
  if (allowedIps.has(address)) return undefined;
  log.warn(
    {
      request_id: locals.requestId,
      key_id: principal.keyId,
      address,
      determined_by: determinedBy,
      peer,
      reason,
      ...(forwarded === undefined ? {} : { forwarded_for: forwarded.slice(0, shownOfHeader) }),
    },
    'address outside the allowlist of the key',
  );
  return new RmsError('ip_not_allowed', {
    message: `The API key may not be used from ${address}. Add the address to its IP allowlist, or use another key.`,
  });
}
