import { type Pool, translatePgError } from '@rms/db';
import { RmsError } from '@rms/errors';
import type { Logger } from '@rms/service';
import type { Marks } from '../key/marks.ts';
import type { AuthMetrics } from '../metrics.ts';

/** What a handler of auth needs. */
export interface HandlerParts {
  readonly pool: Pool;
  readonly marks: Pick<Marks, 'hold'>;
  readonly metrics: Pick<AuthMetrics, 'countVerdict'>;
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
export function found<T>(thing: T | undefined, what: 'key' | 'workspace' | 'plan', id: string): T {
  if (thing === undefined) throw new RmsError('not_found', { message: `There is no ${what} "${id}".` });
  return thing;
}

/** Throws `invalid_request` for more items than one call may bring. */
export function checkBatchSize(items: readonly unknown[], limit: number): void {
  if (items.length <= limit) return;
  throw new RmsError('invalid_request', { message: `A call takes at most ${limit} items.` });
}
