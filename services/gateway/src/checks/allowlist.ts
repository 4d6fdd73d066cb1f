import type { IncomingMessage } from 'node:http';
import { RmsError } from '@rms/errors';
import type { Logger } from '@rms/service';
import type { Locals } from '../http/locals.ts';
import type { Caller } from './principals.ts';

const shownOfHeader = 200;

/** Specification, "Authentication" 7. The log says which address was taken, on whose word, and why that one. */
export function checkAllowlist(
  { allowedIps, principal }: Pick<Caller, 'allowedIps' | 'principal'>,
  { headers }: IncomingMessage,
  locals: Pick<Locals, 'requestId' | 'client'>,
  log: Logger,
): void {
  if (allowedIps.empty) return;
  const { address, toldBy, peer, reason } = locals.client();
  if (allowedIps.has(address)) return;
  const forwarded = headers['x-forwarded-for'];
  log.warn(
    {
      request_id: locals.requestId,
      key_id: principal.keyId,
      address,
      told_by: toldBy,
      peer,
      taken_because: reason,
      ...(forwarded === undefined ? {} : { forwarded_for: String(forwarded).slice(0, shownOfHeader) }),
    },
    'address outside the allowlist of the key',
  );
  throw new RmsError('ip_not_allowed');
}
