import type { IncomingMessage } from 'node:http';
import { RmsError } from '@rms/errors';
import type { Logger } from '@rms/service';
import type { CidrList } from './cidr-list.ts';
import { clientAddress } from './client-address.ts';
import type { Caller } from './principals.ts';

/** Specification, "Authentication" 7. The log says which address was taken, and on whose word. */
export function checkAllowlist(
  { allowedIps, principal }: Caller,
  request: IncomingMessage,
  { trustedProxies, log }: { trustedProxies: CidrList; log: Logger },
): void {
  if (allowedIps.empty) return;
  const { address, toldBy } = clientAddress(request, trustedProxies);
  if (allowedIps.has(address)) return;
  log.warn({ key_id: principal.keyId, address, told_by: toldBy }, 'address outside the allowlist of the key');
  throw new RmsError('ip_not_allowed');
}
