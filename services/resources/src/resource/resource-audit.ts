import { type AuditChange, appendAudit } from '@rms/audit';
import type { Queryable } from '@rms/db';
import type { Cause } from './event.ts';
import type { PreviousAttributes, Resource } from './resource.ts';

/** A change of a resource to record in the audit log. */
export interface AuditedChange {
  readonly cause: Cause;
  readonly change: AuditChange;
}

type Action = 'resource.created' | 'resource.updated' | 'resource.deleted';

/**
 * Returns the audit entry of a change by a user or an operator. Changes by API keys have no entry, because the event
 * feed and the request log contain them. An entry names the changed attributes without their values, because the audit
 * log cannot be erased.
 */
export function auditOf(
  cause: Cause,
  action: Action,
  { workspaceId, environment, id }: Resource,
  previous: PreviousAttributes = {},
): AuditedChange[] {
  if (cause.actor.startsWith('key:')) return [];
  const { metadataJson, ...others } = previous;
  const changed = [...Object.keys(others), ...(metadataJson === undefined ? [] : ['metadata'])];
  const details = action === 'resource.updated' ? { changed } : {};
  return [{ cause, change: { workspaceId, environment, action, targetId: id, details } }];
}

/** Appends the entries in the transaction of the changes. */
export async function appendAudits(tx: Queryable, audits: readonly AuditedChange[]): Promise<void> {
  for (const { cause, change } of audits) await appendAudit(tx, { ...cause, principal: undefined }, [change]);
}
