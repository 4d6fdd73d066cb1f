import type { FieldChange } from '@rms/audit';
import { changeText, namedText } from '@rms/audit/change-text';
import type { AuditEntry } from '@rms/proto/rms/auth/v1/audit_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { fromEnvironmentMessage } from '@rms/tenant';
import { time } from './documents.ts';

export type EntryDocument = ReturnType<typeof entryDocument>;

/** Returns an audit entry for the output of `rms audit` and `rms trace`. */
export function entryDocument(entry: AuditEntry) {
  const { id, actor, actorName, address, requestId, environment, action, targetId, targetName } = entry;
  return {
    id,
    at: time(entry.time),
    actor,
    actor_name: actorName || null,
    address: address || null,
    request_id: requestId || null,
    environment: environment === Environment.UNSPECIFIED ? null : fromEnvironmentMessage(environment),
    action,
    target_id: targetId,
    target_name: targetName || null,
    changes: JSON.parse(entry.changesJson || '[]') as FieldChange[],
    details: JSON.parse(entry.detailsJson || '{}') as Record<string, unknown>,
  };
}

/** Returns the actor with its name: "ci-deploy" (key:key_…). */
export function actorText({ actor, actor_name }: EntryDocument): string {
  return namedText(actor_name, actor);
}

/** Returns the target with its name: "Orders" (wh_…). */
export function targetText({ target_id, target_name }: EntryDocument): string {
  return namedText(target_name, target_id);
}

/** Returns the changes of an entry, then its details: "url: https://a → https://b; by: link". */
export function changesText({ changes, details }: EntryDocument): string {
  const facts = Object.entries(details).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return [...changes.map(changeText), ...facts].join('; ');
}
