import { RmsError } from '@rms/base/errors';
import type { MembersService } from '@rms/proto/rms/auth/v1/members_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import type { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import type { RpcClient } from '@rms/rpc';

export interface Member {
  readonly userId: string;
  readonly email: string;
  readonly isOwner: boolean;
}

/** Looks up workspaces and their members in auth. */
export interface Workspaces {
  /** Returns the workspace's members, without disabled users. */
  membersOf(workspaceId: string): Promise<Member[]>;
  /** Returns the display name of a workspace, or its ID if it does not exist. */
  nameOf(workspaceId: string): Promise<string>;
}

export function createWorkspaces(
  members: Pick<RpcClient<typeof MembersService>, 'listMembers'>,
  workspaces: Pick<RpcClient<typeof WorkspacesService>, 'getWorkspace'>,
): Workspaces {
  return {
    async membersOf(workspaceId) {
      const { members: all } = await members.listMembers({ workspaceId });
      return all
        .filter(({ disabled }) => !disabled)
        .map(({ userId, email, role }) => ({ userId, email, isOwner: role === Role.OWNER }));
    },
    async nameOf(workspaceId) {
      try {
        const { workspace } = await workspaces.getWorkspace({ workspaceId });
        return workspace?.name ?? workspaceId;
      } catch (error) {
        if (error instanceof RmsError && error.code === 'not_found') return workspaceId;
        throw error;
      }
    },
  };
}
