import { RmsError } from '@rms/base/errors';
import type { Keys, SecretBox } from '@rms/base/secrets';
import type { Egress } from '@rms/net/guarded-http';
import type { DatabaseTime, Pool, Queue } from '@rms/postgres/db';
import type { Idempotency } from '@rms/postgres/idempotency';
import type { Logger } from '@rms/runtime/logging';
import type { Recipients } from '../recipient/recipients.ts';
import type { Workspaces } from '../recipient/workspaces.ts';

/** Maximum page size of every list. */
export const maxPageSize = 100;

/** Dependencies of the handlers. */
export interface HandlerParts {
  readonly pool: Pool;
  /** The evaluator's queue. */
  readonly evaluations: Pick<Queue, 'wake'>;
  readonly time: Pick<DatabaseTime, 'nowMs'>;
  readonly idempotency: Idempotency;
  /** Keys that authenticate page tokens. */
  readonly pageTokenKeys: Keys;
  readonly log: Logger;
  /** Clock of usage counts. */
  readonly now: () => number;
}

/** Dependencies of the handlers of channels. */
export interface ChannelParts extends HandlerParts {
  readonly box: SecretBox;
  readonly egress: Egress;
  readonly workspaces: Workspaces;
  readonly recipients: Recipients;
  /** Called when emails are queued. */
  readonly onEmails: () => void;
}

/** Returns `thing`, or throws `not_found` if it is undefined. */
export function found<T>(thing: T | undefined, noun: 'incident' | 'alert channel', id: string): T {
  if (thing === undefined) throw new RmsError('not_found', { message: `There is no ${noun} "${id}".` });
  return thing;
}
