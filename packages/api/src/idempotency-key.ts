import type { IncomingMessage } from 'node:http';
import { RmsError } from '@rms/errors';

const acceptable = /^[\x20-\x7e]{1,255}$/;

/** Returns the Idempotency-Key of a request. Empty if the header is missing. Throws `invalid_request`. */
export function idempotencyKeyOf({ headers }: IncomingMessage): string {
  const key = headers['idempotency-key'];
  if (key === undefined) return '';
  if (typeof key === 'string' && acceptable.test(key)) return key;
  const message = 'must be 1 to 255 printable ASCII characters';
  throw new RmsError('invalid_request', { details: [{ field: 'Idempotency-Key', message }] });
}
