import { type AuditedFields, changesBetween, type NewAuditEntry } from '@rms/postgres/audit';
import type { Plan } from './plan.ts';

const fields: AuditedFields<Plan> = {
  name: 'omitted',
  rateLimitRequests: 'shown',
  rateLimitWindowSeconds: 'shown',
  monthlyQuota: 'shown',
  workspaceRateLimitRequests: 'shown',
  maxKeys: 'shown',
  maxWebhooks: 'shown',
};

/** Returns the audit entry of a new or changed plan. Plans belong to the installation. */
export function planSet(before: Plan | undefined, after: Plan): NewAuditEntry {
  return { ...entryOf(after.name), action: 'plan.set', changes: changesBetween(fields, before, after) };
}

export function planDeleted(plan: Plan): NewAuditEntry {
  return { ...entryOf(plan.name), action: 'plan.deleted', changes: changesBetween(fields, plan, undefined) };
}

function entryOf(name: string) {
  return { workspaceId: '', target: { id: name, name } };
}
