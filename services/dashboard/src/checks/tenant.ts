import type { MessageInitShape } from '@bufbuild/protobuf';
import { RmsError } from '@rms/base/errors';
import { leastRoleFor, may, type Permission, type Role } from '@rms/base/roles';
import { environments, toEnvironmentMessage } from '@rms/base/tenant';
import { Role as RoleMessage } from '@rms/proto/rms/auth/v1/user_pb';
import type { CallContextSchema, Environment } from '@rms/proto/rms/common/v1/common_pb';
import { actorOfUser, type EnumNames, enumNames } from '@rms/rpc';
import type { SignedIn } from './sessions.ts';

type CallContext = MessageInitShape<typeof CallContextSchema>;

/** Workspace and environment of a call, and who makes it. */
export interface Selected {
  readonly tenant: { readonly workspaceId: string; readonly environment: Environment };
  may(permission: Permission): boolean;
  /** ID of the user or of the portal session. */
  readonly callerId: string;
  /** The context's part that identifies the caller. */
  readonly caller: Pick<CallContext, 'actor' | 'actorName'> & {
    readonly principal: NonNullable<CallContext['principal']> & { readonly workspaceId: string };
  };
}

const roles: EnumNames<Role, RoleMessage> = enumNames(RoleMessage);

/**
 * Checks that the user is a workspace member and that the role has the permission. This is the only such check.
 * Throws `not_found` if the workspace does not exist or the user is not a member, and `insufficient_role`.
 */
export function checkTenant(
  { user, memberships }: Pick<SignedIn, 'user' | 'memberships'>,
  { workspace, environment }: { readonly workspace: string; readonly environment: string },
  permission: Permission,
): Selected {
  const membership = memberships.find(({ workspaceId }) => workspaceId === workspace);
  const selected = environments.find((name) => name === environment);
  const role = membership && roleOf(membership);
  if (!membership || role === undefined || selected === undefined) {
    throw new RmsError('not_found', {
      message: 'There is no such workspace and environment, or you are not a member of the workspace.',
    });
  }
  if (!may(role, permission)) {
    const message = `The role ${leastRoleFor(permission)} is required; yours in this workspace is ${role}.`;
    throw new RmsError('insufficient_role', { message });
  }
  const tenant = { workspaceId: membership.workspaceId, environment: toEnvironmentMessage(selected) };
  return {
    tenant,
    may: (other) => may(role, other),
    callerId: user.id,
    caller: { actor: actorOfUser(user.id), actorName: user.email, principal: tenant },
  };
}

export function roleOf({ role }: { readonly role: RoleMessage }): Role | undefined {
  return roles.toName(role);
}

/** Converts a role to its RPC value. */
export function toRoleMessage(role: Role): RoleMessage {
  return roles.toValue(role);
}
