import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';
import { workspaceDocument } from '@rms/api/workspace/document';
import type { Workspace } from '@rms/proto/rms/auth/v1/workspace_pb';

/** Formats a timestamp as ISO 8601; null if it is unset. */
export function time(timestamp: Timestamp | undefined): string | null {
  return timestamp ? timestampDate(timestamp).toISOString() : null;
}

/** Converts to a number; null if it is unset. */
export function numberOrNull(number: bigint | undefined): number | null {
  return number === undefined ? null : Number(number);
}

/** Returns a workspace with the start of its deletion; null: it is not being deleted. */
export function listedWorkspace(workspace: Workspace | undefined) {
  return { ...workspaceDocument(workspace), deletion_started_at: time(workspace?.deletionStartTime) };
}
