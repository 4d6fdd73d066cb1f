import type { IncomingMessage } from 'node:http';
import { hashOfApiKey, isWellFormedApiKey, type KeyEnvironment } from '@rms/api-key';
import { RmsError } from '@rms/errors';

/**
 * The hash of the key in `Authorization: Bearer <key>`. A typo, a key of the other environment and a missing prefix are
 * refused here, by form, without a look-up (specification, "Authentication" 1 and 4).
 */
export function keyHashOf(request: IncomingMessage, environment: KeyEnvironment): Buffer {
  const [, key] = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '') ?? [];
  if (key === undefined || !isWellFormedApiKey(key, environment)) throw new RmsError('invalid_api_key');
  return hashOfApiKey(key);
}
