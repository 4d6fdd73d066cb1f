import type { Tenant } from '@rms/base/tenant';
import {
  type AuditedFields,
  type AuditOrigin,
  appendAudit,
  changesBetween,
  type NewAuditEntry,
  takeAuditPace,
} from '@rms/postgres/audit';
import type { Queryable } from '@rms/postgres/db';
import type { Cause } from './event.ts';
import { canonicalMetadata, type Resource } from './resource.ts';

/** An audit entry with its origin, because a batch's changes belong to different callers. */
export interface AuditedChange {
  readonly origin: AuditOrigin;
  readonly entry: NewAuditEntry;
}

type Action = 'resource.created' | 'resource.updated' | 'resource.deleted';

/** A resource with its metadata as an object, so that each pair is a separate field. */
type Audited = Omit<Resource, 'metadataJson'> & { readonly metadata: Readonly<Record<string, string>> };

const fields: AuditedFields<Audited> = {
  workspaceId: 'omitted',
  environment: 'omitted',
  id: 'omitted',
  status: 'shown',
  name: 'shown',
  metadata: (pairs) => pairs,
  inputType: 'shown',
  createdAt: 'omitted',
  updatedAt: 'omitted',
  sequence: 'omitted',
};

/** With ERASE_ON_DELETE, the audit log must not keep personal data of a resource, because entries cannot be erased. */
const fieldsWithoutContent: AuditedFields<Audited> = {
  ...fields,
  name: { secret: 'name' },
  metadata: { secret: 'metadata' },
};

/**
 * Returns the audit entry of a change by a user or an operator. Changes by API keys have no entry, because the event
 * feed and the request log contain them. Without `before` or `after`, the resource was created or deleted.
 * @param eraseOnDelete leaves out the name and the metadata
 */
export function auditOf(
  cause: Cause,
  { before, after }: { readonly before?: Resource; readonly after?: Resource },
  { eraseOnDelete }: { readonly eraseOnDelete: boolean },
): AuditedChange[] {
  const resource = after ?? before;
  if (!resource || cause.actor.startsWith('key:')) return [];
  const { workspaceId, environment, id } = resource;
  const action: Action = !before ? 'resource.created' : !after ? 'resource.deleted' : 'resource.updated';
  const rules = eraseOnDelete ? fieldsWithoutContent : fields;
  const changes = changesBetween(rules, before && audited(before), after && audited(after));
  const target = { id, name: eraseOnDelete ? '' : resource.name };
  return [{ origin: cause, entry: { workspaceId, environment, target, action, changes } }];
}

/** Appends the entries in the changes' transaction. Each call has taken its pace before; see {@link takePace}. */
export async function appendAudits(tx: Queryable, audits: readonly AuditedChange[]): Promise<void> {
  for (const { origin, entry } of audits) await appendAudit(tx, origin, [entry], { isPaced: true });
}

function audited({ metadataJson, ...resource }: Resource): Audited {
  const pairs = JSON.parse(canonicalMetadata(metadataJson)) as [name: string, value: string][];
  return { ...resource, metadata: Object.fromEntries(pairs) };
}

/**
 * Counts a change by a user toward the pace of audited changes, before it shares a transaction with the changes of other
 * calls. Throws `rate_limit_exceeded`.
 */
export function takePace(
  db: Queryable,
  cause: Cause,
  { workspaceId, environment }: Tenant,
  action: Action,
): Promise<void> {
  return takeAuditPace(db, cause, [{ workspaceId, environment, action }]);
}
