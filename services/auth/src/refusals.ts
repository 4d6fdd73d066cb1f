import { RmsError } from '@rms/base/errors';

/** Returns `thing`, or throws `not_found` if it is undefined. */
export function found<T>(
  thing: T | undefined,
  noun: 'key' | 'workspace' | 'plan' | 'user' | 'member' | 'invitation' | 'linked identity',
  id: string,
): T {
  if (thing === undefined) throw new RmsError('not_found', { message: `There is no ${noun} "${id}".` });
  return thing;
}

/** Returns a `conflict` error: the account has changed since the caller was authenticated. */
export function changedMeanwhile(): RmsError {
  return new RmsError('conflict', { message: 'The account was changed in the meantime. Sign in again.' });
}

/** Returns an `invalid_request` error about one field. */
export function invalid(field: string, message: string): RmsError {
  return new RmsError('invalid_request', { details: [{ field, message }] });
}
