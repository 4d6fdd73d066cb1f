import { RmsError } from '@rms/base/errors';

/** Throws `invalid_request` about one field. */
export function refuse(field: string, message: string): never {
  throw new RmsError('invalid_request', { details: [{ field, message }] });
}
