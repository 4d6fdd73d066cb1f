import { type Pool, translatePgError } from '@rms/db';
import { RmsError } from '@rms/errors';
import type { Keys, SecretBox } from '@rms/secrets';
import type { Logger } from '@rms/service';
import type { Marks } from '../key/marks.ts';
import type { AuthMetrics } from '../metrics.ts';
import type { PasswordHasher } from '../password/hasher.ts';
import type { Throttle } from '../sign-in/throttle.ts';

/** What a handler of auth needs. */
export interface HandlerParts {
  readonly pool: Pool;
  readonly marks: Pick<Marks, 'hold'>;
  readonly metrics: Pick<AuthMetrics, 'countVerdict' | 'countSignIn'>;
  readonly passwords: PasswordHasher;
  readonly throttle: Throttle;
  /** Seals secrets of second factors, and the tokens of mails. */
  readonly box: SecretBox;
  /** Authenticate what has proven the first step of a sign-in. */
  readonly challengeKeys: Keys;
  readonly log: Logger;
}

/** Runs a handler's work; whatever PostgreSQL raises leaves as the one error type. */
export async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw translatePgError(error);
  }
}

/** The thing, or `not_found`. */
export function found<T>(
  thing: T | undefined,
  what: 'key' | 'workspace' | 'plan' | 'user' | 'member' | 'invitation',
  id: string,
): T {
  if (thing === undefined) throw new RmsError('not_found', { message: `There is no ${what} "${id}".` });
  return thing;
}

/** Throws `invalid_request` for more items than one call may bring. */
export function checkBatchSize(items: readonly unknown[], limit: number): void {
  if (items.length <= limit) return;
  throw new RmsError('invalid_request', { message: `A call takes at most ${limit} items.` });
}

/** `invalid_request` about one field. */
export function invalid(field: string, message: string): RmsError {
  return new RmsError('invalid_request', { details: [{ field, message }] });
}
