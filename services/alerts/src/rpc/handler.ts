import { RmsError } from '@rms/base/errors';
import type { DatabaseTime, Pool, Queue } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';

/** Dependencies of the handlers. */
export interface HandlerParts {
  readonly pool: Pool;
  /** The queue of the evaluator. */
  readonly evaluations: Pick<Queue, 'wake'>;
  readonly time: Pick<DatabaseTime, 'nowMs'>;
  readonly log: Logger;
  /** Clock of usage counts. */
  readonly now: () => number;
}

/** Throws `invalid_request` about one field. */
export function refuse(field: string, message: string): never {
  throw new RmsError('invalid_request', { details: [{ field, message }] });
}
