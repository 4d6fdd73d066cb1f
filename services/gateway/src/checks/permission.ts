import { RmsError } from '@rms/base/errors';
import { keyMay, leastScopeFor, type Permission } from '@rms/base/roles';
import type { Caller } from './principals.ts';

/** Returns the error for a key without the required permission. It names what is required and what the key has. */
export function checkPermission({ grant: key }: Caller, required: Permission): RmsError | undefined {
  if (keyMay(key, required)) return undefined;
  const message =
    key.scope === 'restricted'
      ? `Permission \`${required}\` is required; this key has ${key.permissions.map((name) => `\`${name}\``).join(', ')}.`
      : `Scope \`${leastScopeFor(required)}\` is required; this key has \`${key.scope}\`.`;
  return new RmsError('insufficient_scope', { message });
}
