import type { IncomingMessage } from 'node:http';
import { RmsError } from '@rms/base/errors';
import { type KeyPermission, keyMay, type Permission, portalPermissions } from '@rms/base/roles';
import { environments, toEnvironmentMessage } from '@rms/base/tenant';
import type { PortalSession, PortalSessionsService } from '@rms/proto/rms/auth/v1/portal_sessions_service_pb';
import type { RpcClient } from '@rms/rpc';
import { Refusal } from '../http/refusal.ts';
import type { Selected } from './tenant.ts';
import type { UserRates } from './user-rates.ts';

/** Checks the portal sessions of requests. Pages send the token in a header that browsers never add themselves. */
export interface PortalSessions {
  /**
   * Returns a request's session; undefined if the request names none. Throws `portal_session_ended` if the session is
   * not valid, and `rate_limit_exceeded` if it makes too many calls.
   */
  find(request: IncomingMessage): Promise<PortalSession | undefined>;
}

const header = 'x-portal-token';
const tokenForm = /^[\w-]{43}$/;

export function createPortalSessions({
  portalSessions,
  rates,
}: {
  readonly portalSessions: Pick<RpcClient<typeof PortalSessionsService>, 'checkPortalSession'>;
  readonly rates: Pick<UserRates, 'takeUser'>;
}): PortalSessions {
  return {
    async find({ headers }) {
      if (headers[header] === undefined) return undefined;
      const token = String(headers[header]);
      const session = tokenForm.test(token) ? (await portalSessions.checkPortalSession({ token })).session : undefined;
      if (!session) throw new Refusal('portal_session_ended');
      await rates.takeUser(session.id);
      return session;
    },
  };
}

/**
 * Checks that a portal session is of the workspace and environment, and has the permission. This is the only such check.
 * Throws `not_found` and `insufficient_scope`.
 */
export function checkPortalTenant(
  session: PortalSession,
  { workspace, environment: name }: { readonly workspace: string; readonly environment: string },
  permission: Permission,
): Selected {
  const { id, workspaceId, environment, keyId, actorName } = session;
  const selected = environments.find((one) => one === name);
  if (workspace !== workspaceId || !selected || toEnvironmentMessage(selected) !== environment) {
    throw new RmsError('not_found', { message: 'The portal session is of another workspace or environment.' });
  }
  const permissions = permissionsOfPortal(session);
  const may = (other: Permission) => keyMay({ scope: 'restricted', permissions }, other);
  if (!may(permission)) {
    throw new RmsError('insufficient_scope', { message: `The portal session lacks the permission \`${permission}\`.` });
  }
  const tenant = { workspaceId, environment };
  // The session acts for its key.
  return { tenant, may, callerId: id, caller: { principal: { ...tenant, keyId, permissions }, actorName } };
}

/** Returns a session's permissions. */
export function permissionsOfPortal(session: PortalSession): KeyPermission[] {
  return portalPermissions.filter((one) => session.permissions.includes(one));
}
