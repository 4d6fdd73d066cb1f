import { type Pool, translatePgError } from '@rms/db';
import { RmsError } from '@rms/errors';
import type { Logger } from '@rms/service';

/** What a handler of alerts needs. */
export interface HandlerParts {
  readonly pool: Pool;
  readonly log: Logger;
  readonly now: () => number;
}

/** Runs a handler's work; whatever PostgreSQL raises leaves as the one error type. */
export async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw translatePgError(error);
  }
}

/** Throws `invalid_request` that names one field. */
export function refuse(field: string, message: string): never {
  throw new RmsError('invalid_request', { details: [{ field, message }] });
}
