import { type AuditedFields, changesBetween, type NewAuditEntry } from '@rms/postgres/audit';
import type { Workspace } from './workspace.ts';

const fields: AuditedFields<Workspace> = {
  id: 'omitted',
  name: 'shown',
  createdAt: 'omitted',
  plan: 'shown',
  deletionStartedAt: 'omitted',
};

export function workspaceCreated(workspace: Workspace): NewAuditEntry {
  const changes = changesBetween(fields, undefined, workspace);
  return { ...targetOf(workspace), action: 'workspace.created', changes };
}

/** Returns the audit entry of a deletion's beginning, with the numbers of objects that end with it. */
export function workspaceDeletionStarted(
  workspace: Workspace,
  counts: Readonly<Record<string, number>>,
): NewAuditEntry {
  return { ...targetOf(workspace), action: 'workspace.deletion_started', details: counts };
}

/**
 * Returns the audit entries of a deleted workspace: one in its own log, and one in the installation's log, where
 * operators find it without the ID.
 */
export function workspaceDeleted(workspace: Workspace, rows: Readonly<Record<string, number>>): NewAuditEntry[] {
  const changes = changesBetween(fields, workspace, undefined);
  const entry: NewAuditEntry = { ...targetOf(workspace), action: 'workspace.deleted', changes, details: { rows } };
  return [entry, { ...entry, workspaceId: '' }];
}

/** Returns the audit entry of a new plan of a workspace. `before` is the locked workspace. */
export function workspacePlanSet(before: Workspace, after: Workspace): NewAuditEntry {
  return { ...targetOf(after), action: 'workspace.plan_set', changes: changesBetween(fields, before, after) };
}

function targetOf({ id, name }: Workspace) {
  return { workspaceId: id, target: { id, name } };
}
