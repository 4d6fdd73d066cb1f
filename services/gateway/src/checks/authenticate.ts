import type { IncomingMessage } from 'node:http';
import { hashOfApiKey, isWellFormedApiKey, type KeyEnvironment } from '@rms/api-key';
import { RmsError } from '@rms/errors';

/** The scheme is case-insensitive (RFC 9110, 11.1); the key is not. */
const bearer = /^Bearer +(\S+)$/i;

/**
 * The hash of the key in `Authorization: Bearer <key>`. A typo, a key of the other environment and a missing prefix are
 * refused here, by form, without a look-up (specification, "Authentication" 1 and 4).
 */
export function keyHashOf({ headers }: IncomingMessage, environment: KeyEnvironment): Buffer {
  const key = bearer.exec(headers.authorization ?? '')?.[1];
  if (key === undefined || !isWellFormedApiKey(key, environment)) throw new RmsError('invalid_api_key');
  return hashOfApiKey(key);
}
