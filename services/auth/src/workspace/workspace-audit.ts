import { type AuditedFields, changesBetween, type NewAuditEntry } from '@rms/audit';
import type { Workspace } from './workspace.ts';

const fields: AuditedFields<Workspace> = { id: 'omitted', name: 'shown', createdAt: 'omitted', plan: 'shown' };

export function workspaceCreated(workspace: Workspace): NewAuditEntry {
  const changes = changesBetween(fields, undefined, workspace);
  return { ...targetOf(workspace), action: 'workspace.created', changes };
}

/** Returns the audit entry of a new plan of a workspace. `before` is the locked workspace. */
export function workspacePlanSet(before: Workspace, after: Workspace): NewAuditEntry {
  return { ...targetOf(after), action: 'workspace.plan_set', changes: changesBetween(fields, before, after) };
}

function targetOf({ id, name }: Workspace) {
  return { workspaceId: id, target: { id, name } };
}
