export type { AuditedAction, ChangeAction } from './audit-action.ts';
export {
  type AuditEntry,
  type AuditFilter,
  type AuditOrigin,
  appendAudit,
  auditThrottles,
  lastAuditRead,
  listAudit,
  type NewAuditEntry,
  takeAuditPace,
} from './audit-log.ts';
export { type AuditedFields, changesBetween, type FieldChanges, secretReplaced } from './field-changes.ts';
export { auditLogBytes, auditPartitions, migrations } from './schema.ts';
