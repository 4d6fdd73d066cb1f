import type { IncomingMessage } from 'node:http';
import { RmsError } from '@rms/base/errors';
import { idempotencyKeyProblem } from '@rms/base/value-rules';

/** Returns the Idempotency-Key of a request. Empty if the header is missing. Throws `invalid_request`. */
export function idempotencyKeyOf({ headers }: IncomingMessage): string {
  const key = headers['idempotency-key'];
  if (key === undefined) return '';
  const message = idempotencyKeyProblem(String(key));
  if (message === undefined) return String(key);
  throw new RmsError('invalid_request', { details: [{ field: 'Idempotency-Key', message }] });
}
