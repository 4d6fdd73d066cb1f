import { isId } from '@rms/base/ids';
import type { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { type Handlers, userOfActor } from '@rms/rpc';
import { invalid } from '../refusals.ts';
import { toWorkspaceMessage } from '../workspace/workspace-message.ts';
import { listWorkspaces as readWorkspaces } from '../workspace/workspace-queries.ts';
import { type HandlerParts, maxPageSize } from './handler.ts';

/**
 * Returns a page with the user's workspaces, or of all workspaces if the caller acts for no user. The page token is the
 * ID of the last workspace. It needs no protection because it only selects among the workspaces that the caller may
 * see.
 */
export function listWorkspaces({ pool }: HandlerParts): Handlers<typeof WorkspacesService>['listWorkspaces'] {
  return async ({ pageSize, pageToken, includeDeleting }, { actor }) => {
    if (pageSize < 0 || pageSize > maxPageSize) throw invalid('page_size', `must be 0 to ${maxPageSize}`);
    if (pageToken !== '' && !isId('ws', pageToken)) throw invalid('page_token', 'is not a page token of this list');
    const size = pageSize || maxPageSize;
    const memberId = userOfActor(actor);
    const found = await readWorkspaces(pool, { memberId, includeDeleting, after: pageToken, limit: size + 1 });
    const workspaces = found.slice(0, size);
    return {
      workspaces: workspaces.map(toWorkspaceMessage),
      nextPageToken: found.length > size ? (workspaces.at(-1)?.id ?? '') : '',
    };
  };
}
