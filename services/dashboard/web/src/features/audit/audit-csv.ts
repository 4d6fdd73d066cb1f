import type { AuditEntry } from '@rms/api';
import { changeText } from '@rms/base/audit-change';

/**
 * Returns audit entries as CSV (RFC 4180) with a header line. `nameOf` returns the current name of an actor, for entries
 * without the name at that time.
 */
export function auditCsv(entries: readonly AuditEntry[], nameOf: (actor: string) => string | undefined): string {
  const headings =
    'created_at,action,actor,actor_name,client_ip,target_id,target_name,environment,request_id,changes,details';
  const lines = entries.map((entry) =>
    [
      ...[entry.created_at, entry.action, entry.actor, entry.actor_name ?? nameOf(entry.actor), entry.client_ip],
      ...[entry.target_id, entry.target_name, entry.environment ?? 'both', entry.request_id],
      ...[entry.changes.map(changeText).join('\n'), JSON.stringify(entry.details)],
    ]
      .map((value) => cell(value ?? ''))
      .join(','),
  );
  return [headings, ...lines, ''].join('\r\n');
}

/** Quotes a value. A leading quote keeps spreadsheets from reading a third party's value as a formula. */
function cell(value: string): string {
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return `"${text.replaceAll('"', '""')}"`;
}
