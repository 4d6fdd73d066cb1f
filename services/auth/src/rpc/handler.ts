import { RmsError } from '@rms/base/errors';
import type { Keys, SecretBox } from '@rms/base/secrets';
import type { DatabaseTime, Pool, Queue } from '@rms/postgres/db';
import type { Idempotency } from '@rms/postgres/idempotency';
import type { Logger } from '@rms/runtime/logging';
import type { Markers } from '../key/markers.ts';
import type { AuthMetrics } from '../metrics.ts';
import type { PasswordHasher } from '../password/hasher.ts';
import type { Throttle } from '../sign-in/throttle.ts';

/** Dependencies of the handlers. */
export interface HandlerParts {
  readonly pool: Pool;
  /** All instances share its clock. Links and challenges expire by it. */
  readonly time: Pick<DatabaseTime, 'nowMs'>;
  /** The queue of emails that the alerts service fetches. */
  readonly emails: Pick<Queue, 'wake' | 'untilRows'>;
  /** The queue of operational events, which the webhooks service fetches. */
  readonly operational: Pick<Queue, 'wake' | 'untilRows'>;
  readonly markers: Pick<Markers, 'hold'>;
  readonly metrics: Pick<AuthMetrics, 'countVerdict' | 'countSignIn'>;
  readonly passwords: PasswordHasher;
  readonly throttle: Throttle;
  /** Encrypts second factor secrets, queued emails and stored responses. */
  readonly box: SecretBox;
  readonly idempotency: Idempotency;
  /** Keys that authenticate page tokens. */
  readonly pageTokenKeys: Keys;
  /** Keys that authenticate the challenge returned by the first step of a sign-in. */
  readonly challengeKeys: Keys;
  /** Valid keys per workspace with a plan without a limit; 0: no limit. */
  readonly maxKeys: number;
  /** Members per workspace; 0: no limit. */
  readonly maxMembers: number;
  /** Open invitations per workspace; 0: no limit. */
  readonly maxInvitations: number;
  readonly log: Logger;
}

/** Page size of lists that have no smaller one. */
export const maxPageSize = 1_000;
/** Items of a call about keys. */
export const maxKeysPerCall = 1_000;
/** Items of a report. */
export const maxReported = 10_000;

/** Throws `invalid_request` if a call contains more than `limit` items. */
export function checkBatchSize(items: readonly unknown[], limit: number): void {
  if (items.length <= limit) return;
  throw new RmsError('invalid_request', { message: `A call must have at most ${limit} items.` });
}
