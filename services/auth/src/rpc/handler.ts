import { translatePgError } from '@rms/db';
import type { AuthContext } from '../context.ts';

/** What a handler of auth needs. */
export type HandlerContext = Pick<AuthContext, 'pool' | 'limiter' | 'log'>;

/** Runs a handler's work; whatever PostgreSQL raises leaves as the one error type. */
export async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw translatePgError(error);
  }
}
