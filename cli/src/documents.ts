import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';
import { idTime } from '@rms/base/ids';
import { fromEnvironmentMessage } from '@rms/base/tenant';
import type { Key } from '@rms/proto/rms/auth/v1/key_pb';
import type { Workspace } from '@rms/proto/rms/auth/v1/workspace_pb';
import { Scope } from '@rms/proto/rms/common/v1/common_pb';
import { enumNames } from '@rms/rpc/enum-names';

export const scopes = enumNames(Scope);

/** Formats a timestamp as ISO 8601; null if it is unset. */
export function time(timestamp: Timestamp | undefined): string | null {
  return timestamp ? timestampDate(timestamp).toISOString() : null;
}

/** Converts to a number; null if it is unset. */
export function numberOrNull(number: bigint | undefined): number | null {
  return number === undefined ? null : Number(number);
}

/** Returns a key for the output of `rms keys …`. `value` is set only for a new key. It is shown once. */
export function keyDocument(key: Key, value?: string) {
  return {
    id: key.id,
    ...(value === undefined ? {} : { key: value }),
    environment: fromEnvironmentMessage(key.environment),
    scope: scopes.toName(key.scope) ?? 'restricted',
    permissions: key.permissions,
    name: key.name,
    ...(value === undefined ? { hint: key.hint, created_at: time(key.createTime) } : {}),
    expires_at: time(key.expireTime),
    allowed_ips: key.allowedIps,
    ...(value === undefined
      ? {
          revoked_at: time(key.revokeTime),
          // The successor's ID contains its creation time.
          rolled_at: key.replacedById ? new Date(idTime(key.replacedById)).toISOString() : null,
          ends_at: time(key.rollTime),
          replaced_by: key.replacedById || null,
          created_by: key.createdBy || null,
          created_by_name: key.creatorName || null,
          rate_limit_requests: numberOrNull(key.rateLimitRequests),
        }
      : {}),
  };
}

export function workspaceDocument({ id, name, createTime, plan, deletionStartTime }: Workspace) {
  const deletion_started_at = time(deletionStartTime);
  return { id, name, created_at: time(createTime), plan: plan || null, deletion_started_at };
}
