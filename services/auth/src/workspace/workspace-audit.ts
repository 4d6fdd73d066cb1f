import type { AuditChange } from '@rms/audit';
import type { Workspace } from './workspace.ts';

/** Returns the audit entry of a new workspace. */
export function workspaceCreated({ id, name }: Workspace): AuditChange {
  return { workspaceId: id, action: 'workspace.created', targetId: id, details: { name } };
}

/** Returns the audit entry of the beginning of a deletion, with the numbers of objects that end with it. */
export function workspaceDeletionStarted(
  { id, name }: Workspace,
  counts: Readonly<Record<string, number>>,
): AuditChange {
  return { workspaceId: id, action: 'workspace.deletion_started', targetId: id, details: { name, ...counts } };
}

/**
 * Returns the audit entries of a deleted workspace: one in its own log, and one in the log of the installation, where
 * operators find it without the ID.
 */
export function workspaceDeleted({ id, name }: Workspace, rows: Readonly<Record<string, number>>): AuditChange[] {
  const change = { action: 'workspace.deleted', targetId: id, details: { name, rows } };
  return [
    { workspaceId: id, ...change },
    { workspaceId: '', ...change },
  ];
}

export function workspacePlanSet({ id, plan }: Workspace): AuditChange {
  return { workspaceId: id, action: 'workspace.plan_set', targetId: id, details: { plan: plan ?? null } };
}
