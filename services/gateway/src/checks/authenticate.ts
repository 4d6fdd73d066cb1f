import type { IncomingMessage } from 'node:http';

import { environmentOfApiKey, hashOfApiKey, isWellFormedApiKey, keyPrefixes } from '@rms/base/api-key';

import { RmsError } from '@rms/base/errors';
import type { Environment } from '@rms/base/tenant';

/** The scheme is case-insensitive (RFC 9110, 11.1); the key is not. */
const bearer = /^Bearer +(\S+)$/i;

/**
 * Returns the key's hash in `Authorization: Bearer <key>`. Rejects typos, keys of the other environment and
 * missing prefixes by their format, without a lookup. So the messages reveal
 * nothing about stored keys.
 */
export function keyHashOf({ headers }: IncomingMessage, environment: Environment): Buffer {
  const { authorization = '' } = headers;
  if (authorization === '')
    throw refused('The Authorization header is missing. Send `Authorization: Bearer <API_KEY>`.');
  const key = bearer.exec(authorization)?.[1];
  if (key === undefined) throw refused('The Authorization header must have the form `Bearer <API_KEY>`.');
  const prefix = keyPrefixes[environment];
  const named = environmentOfApiKey(key);
  if (named !== undefined && named !== environment) {
    throw refused(
      `A ${named} key (\`${keyPrefixes[named]}\`) does not work here: this address serves the ${environment} ` +
        `environment. Use a key that starts with \`${prefix}\`, or the address of the ${named} environment.`,
    );
  }
  if (!isWellFormedApiKey(key, environment)) {
    throw refused(`The API key is malformed. Check that it is complete, without typos, and starts with \`${prefix}\`.`);
  }
  return hashOfApiKey(key);
}

function refused(message: string): RmsError {
  return new RmsError('invalid_api_key', { message });
}
