import { changeText, namedText } from '@rms/base/audit-change';
import { environmentOf } from '@rms/base/tenant';
import type { AuditEntry as Message } from '@rms/proto/rms/auth/v1/audit_service_pb';
import { presentTimeOf } from '../times.ts';
import type { AuditEntry } from './schema.ts';

/** Returns the API representation of an audit entry. */
export function auditEntryDocument(entry: Message): AuditEntry {
  return {
    id: entry.id,
    type: 'audit_entry',
    action: entry.action,
    actor: entry.actor,
    actor_name: entry.actorName || null,
    target_id: entry.targetId,
    target_name: entry.targetName || null,
    environment: environmentOf(entry.environment) ?? null,
    client_ip: entry.address || null,
    request_id: entry.requestId || null,
    changes: JSON.parse(entry.changesJson || '[]'),
    details: JSON.parse(entry.detailsJson || '{}'),
    created_at: presentTimeOf(entry.time),
  };
}

/** Returns the actor with its name: "ci-deploy" (key:key_…). */
export function actorText({ actor, actor_name }: AuditEntry): string {
  return namedText(actor_name, actor);
}

/** Returns the target with its name: "Orders" (wh_…). */
export function targetText({ target_id, target_name }: AuditEntry): string {
  return namedText(target_name, target_id);
}

/** Returns the changes of an entry, then its details: "url: https://a → https://b; by: link". */
export function changesText({ changes, details }: AuditEntry): string {
  const facts = Object.entries(details).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return [...changes.map(changeText), ...facts].join('; ');
}
