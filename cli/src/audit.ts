import type { AuditEntry } from '@rms/proto/rms/auth/v1/audit_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { environmentName, time } from './documents.ts';

export type EntryDocument = ReturnType<typeof entryDocument>;

/** Returns an audit entry for the output of `rms audit` and `rms trace`. */
export function entryDocument(entry: AuditEntry) {
  const { id, actor, address, requestId, environment, action, targetId } = entry;
  return {
    id,
    at: time(entry.time),
    actor,
    address: address || null,
    request_id: requestId || null,
    environment: environment === Environment.UNSPECIFIED ? null : environmentName(environment),
    action,
    target_id: targetId,
    details: JSON.parse(entry.detailsJson || '{}') as unknown,
  };
}
