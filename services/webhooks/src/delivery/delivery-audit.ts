import {
  type AuditedAction,
  type AuditedFields,
  changesBetween,
  type FieldChanges,
  type NewAuditEntry,
} from '@rms/postgres/audit';
import type { LoggedDelivery } from './log-queries.ts';

type Status = Pick<LoggedDelivery, 'status'>;

const fields: AuditedFields<Status> = { status: 'shown' };

/** Returns the changes between two states of a delivery. */
export function deliveryChanges(before: Status, after: Status): FieldChanges {
  return changesBetween(fields, before, after);
}

/** Returns the audit entry of an action on a delivery. Its name is the event type. */
export function deliveryEntry(delivery: LoggedDelivery, action: AuditedAction): NewAuditEntry {
  const { workspaceId, environment, id, eventType, webhookId } = delivery;
  const target = { id, name: eventType };
  return { workspaceId, environment, target, details: { webhook_id: webhookId }, ...action };
}
