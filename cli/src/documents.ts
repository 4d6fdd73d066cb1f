import { timeOf } from '@rms/api/times';
import { workspaceDocument } from '@rms/api/workspace/document';
import type { Workspace } from '@rms/proto/rms/auth/v1/workspace_pb';

/** Converts to a number; null if it is unset. */
export function numberOrNull(number: bigint | undefined): number | null {
  return number === undefined ? null : Number(number);
}

/** Returns a workspace with the start of its deletion; null: it is not being deleted. */
export function listedWorkspace(workspace: Workspace | undefined) {
  return { ...workspaceDocument(workspace), deletion_started_at: timeOf(workspace?.deletionStartTime) };
}
