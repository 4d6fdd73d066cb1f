export type { AuditedAction, ChangeAction } from './audit-action.ts';
export { type AuditEntry, type AuditOrigin, actorOf, type NewAuditEntry } from './audit-entry.ts';
export {
  type AuditFilter,
  appendAudit,
  auditThrottles,
  lastAuditRead,
  listAudit,
  takeAuditPace,
} from './audit-queries.ts';
export { type AuditedFields, changesBetween, type FieldChanges, secretReplaced } from './field-changes.ts';
export { migrations } from './migrations.ts';
export { auditLogBytes, auditPartitions } from './partitions.ts';
export { reencryptionStarted } from './secrets-audit.ts';
