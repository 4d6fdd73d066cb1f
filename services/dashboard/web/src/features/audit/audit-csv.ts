import type { AuditEntry } from './audit-queries.ts';

/** Returns audit entries as CSV (RFC 4180) with a header line. `nameOf` returns the name of an actor. */
export function auditCsv(entries: readonly AuditEntry[], nameOf: (actor: string) => string | undefined): string {
  const headings = 'time,action,actor,actor_name,address,target_id,environment,request_id,details';
  const lines = entries.map((entry) =>
    [
      ...[entry.time, entry.action, entry.actor, nameOf(entry.actor), entry.address, entry.target_id],
      ...[entry.environment ?? 'both', entry.request_id, entry.details_json],
    ]
      .map((value) => cell(value ?? ''))
      .join(','),
  );
  return [headings, ...lines, ''].join('\r\n');
}

/** Quotes a value. A leading quote keeps spreadsheets from reading a value of a third party as a formula. */
function cell(value: string): string {
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return `"${text.replaceAll('"', '""')}"`;
}
