import { deleteContents as deleteRows } from '@rms/postgres/workspace-deletion';
import type { WorkspaceDeletionService } from '@rms/proto/rms/resources/v1/workspace_deletion_service_pb';
import type { Handlers } from '@rms/rpc';
import { contents } from '../deletion/contents.ts';
import type { WriteParts } from './parts.ts';

/** Deletes rows of a workspace that is being deleted. */
export function deleteContents({ pool }: WriteParts): Handlers<typeof WorkspaceDeletionService>['deleteContents'] {
  return (request) => deleteRows({ pool, contents }, request);
}
