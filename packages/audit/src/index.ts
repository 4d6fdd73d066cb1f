export { type AuditChange, type AuditEntry, type AuditOrigin, actorOf } from './audit-entry.ts';
export { type AuditFilter, appendAudit, lastAuditRead, listAudit } from './audit-queries.ts';
export { migrations } from './migrations.ts';
