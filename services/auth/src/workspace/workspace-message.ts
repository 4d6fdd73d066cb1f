import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Workspace } from './workspace.ts';

/** Converts a workspace to rms.auth.v1.Workspace. */
export function toWorkspaceMessage({ id, name, createdAt, plan, deletionStartedAt }: Workspace) {
  return {
    id,
    name,
    createTime: timestampFromDate(createdAt),
    plan: plan ?? '',
    ...(deletionStartedAt ? { deletionStartTime: timestampFromDate(deletionStartedAt) } : {}),
  };
}
