import { alertRules } from '@rms/base/alert-rules';
import type { Tenant } from '@rms/base/tenant';
import {
  type AuditedAction,
  type AuditedFields,
  changesBetween,
  type FieldChanges,
  type NewAuditEntry,
} from '@rms/postgres/audit';
import type { AlertKind, Rule } from './rule.ts';

/** A rule with the addresses that a change subscribes again. */
export type SubscribedRule = Rule & { readonly unsubscribed: readonly string[] };

const fields: AuditedFields<SubscribedRule> = {
  workspaceId: 'omitted',
  environment: 'omitted',
  kind: 'omitted',
  enabled: 'shown',
  threshold: 'shown',
  windowSeconds: 'shown',
  minimum: 'shown',
  recipients: 'shown',
  toOwners: 'shown',
  channels: 'shown',
  version: 'omitted',
  updatedAt: 'omitted',
  unsubscribed: 'shown',
};

/** Returns the changes between two locked or written states of a rule. */
export function ruleChanges(before: SubscribedRule, after: SubscribedRule): FieldChanges {
  return changesBetween(fields, before, after);
}

/** Returns the audit entry of an action on a rule. */
export function ruleEntry(tenant: Tenant, kind: AlertKind, action: AuditedAction): NewAuditEntry {
  const { workspaceId, environment } = tenant;
  return { workspaceId, environment, target: { id: kind, name: alertRules[kind].name }, ...action };
}

const unsubscription: AuditedFields<{ readonly unsubscribed: readonly string[] }> = { unsubscribed: 'shown' };

/** Returns the audit entry of a recipient who unsubscribed from a rule, or subscribed again. */
export function unsubscribedEntry(tenant: Tenant, kind: AlertKind, address: string, isOut: boolean): NewAuditEntry {
  const [out, none] = [{ unsubscribed: [address.toLowerCase()] }, { unsubscribed: [] }];
  return ruleEntry(tenant, kind, {
    action: isOut ? 'alert_rule.unsubscribed' : 'alert_rule.resubscribed',
    changes: isOut ? changesBetween(unsubscription, none, out) : changesBetween(unsubscription, out, none),
    details: { address },
  });
}
