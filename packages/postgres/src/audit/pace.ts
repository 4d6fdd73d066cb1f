import { RmsError, tryAgainIn } from '@rms/base/errors';
import { userOfActor } from '@rms/rpc';
import { type Queryable, throttleTable } from '../db/index.ts';
import type { AuditOrigin, NewAuditEntry } from './audit-entry.ts';

export const auditThrottles = throttleTable('audit.throttles');

/** Audited changes per workspace. An entry takes up to 10 KB and is kept; at this pace, 1.5 GB a month per workspace. */
const pace = { burst: 5_000, everySeconds: 10 };

/**
 * Counts an audited change by a user or an API key. Throws `rate_limit_exceeded`. Operators have no limit. Not counted:
 * changes that concern both environments (sign-ins, users and members), which have limits of their own, and the end of an
 * object, such as a key's revocation, which must always be possible and happens once per object.
 */
export async function takeAuditPace(
  db: Queryable,
  { actor, principal }: Pick<AuditOrigin, 'actor' | 'principal'>,
  entries: readonly Pick<NewAuditEntry, 'workspaceId' | 'environment' | 'action'>[],
): Promise<void> {
  const isPaced = userOfActor(actor) !== undefined || (actor === '' && principal !== undefined);
  if (!isPaced) return;
  const counted = entries.filter(
    ({ environment, action }) => environment !== undefined && !/\.(?:deleted|revoked)$/.test(action),
  );
  for (const workspaceId of new Set(counted.map((entry) => entry.workspaceId))) {
    const retryAfterSeconds = await auditThrottles.take(db, Buffer.from(workspaceId), pace);
    if (retryAfterSeconds === 0) continue;
    throw new RmsError('rate_limit_exceeded', {
      message: `Too many changes in this workspace. ${tryAgainIn(retryAfterSeconds)}`,
      retryAfterSeconds,
    });
  }
}
