import { type AuditedFields, changesBetween, type NewAuditEntry } from '@rms/audit';
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
  return planEntry('plan.set', before, after);
}

export function planDeleted(plan: Plan): NewAuditEntry {
  return planEntry('plan.deleted', plan, undefined);
}

function planEntry(action: string, before: Plan | undefined, after: Plan | undefined): NewAuditEntry {
  const { name = '' } = after ?? before ?? {};
  return { workspaceId: '', target: { id: name, name }, action, changes: changesBetween(fields, before, after) };
}
