import type { AuditChange } from '@rms/audit';
import type { Workspace } from './workspace.ts';

/** Returns the audit entry of a new workspace. */
export function workspaceCreated({ id, name }: Workspace): AuditChange {
  return { workspaceId: id, action: 'workspace.created', targetId: id, details: { name } };
}

export function workspacePlanSet({ id, plan }: Workspace): AuditChange {
  return { workspaceId: id, action: 'workspace.plan_set', targetId: id, details: { plan: plan ?? null } };
}
