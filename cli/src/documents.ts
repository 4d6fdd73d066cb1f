import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';
import type { Workspace } from '@rms/proto/rms/auth/v1/workspace_pb';

/** Formats a timestamp as ISO 8601; null if it is unset. */
export function time(timestamp: Timestamp | undefined): string | null {
  return timestamp ? timestampDate(timestamp).toISOString() : null;
}

/** Converts to a number; null if it is unset. */
export function numberOrNull(number: bigint | undefined): number | null {
  return number === undefined ? null : Number(number);
}

export function workspaceDocument({ id, name, createTime, plan, deletionStartTime }: Workspace) {
  const deletion_started_at = time(deletionStartTime);
  return { id, name, created_at: time(createTime), plan: plan || null, deletion_started_at };
}
