import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { RmsError, tryAgainIn } from '@rms/base/errors';
import {
  type KeyPermission,
  keyMay,
  leastRoleFor,
  may,
  type Permission,
  portalPermissions,
  type Role,
} from '@rms/base/roles';
import { environments, type Tenant, toEnvironmentMessage, toTenant } from '@rms/base/tenant';
import { createMemoryLimiter, type LimitCheck, type Limits } from '@rms/limits';
import type { PortalSession } from '@rms/proto/rms/auth/v1/portal_sessions_service_pb';
import { Role as RoleMessage } from '@rms/proto/rms/auth/v1/user_pb';
import type { CallContextSchema, Environment } from '@rms/proto/rms/common/v1/common_pb';
import { actorOfUser, type EnumNames, enumNames } from '@rms/rpc';
import type { Request } from 'express';
import type { DashboardConfig } from '../config.ts';
import type { Backend } from '../context.ts';
import type { PageResponse } from '../http/locals.ts';
import { ownOrigin } from '../http/origin.ts';
import { Refusal } from '../http/refusal.ts';
import type { Session } from '../session/session.ts';
import type { Sessions, SignedIn } from './sessions.ts';

type CallContext = MessageInitShape<typeof CallContextSchema>;

/** What an endpoint requires. */
interface Guarded {
  readonly method: string;
  /** 'account': a signed-in user. A permission: a member or a portal session with it. */
  readonly access: 'open' | 'account' | Permission;
}

/** Who calls an endpoint: both are undefined for an open one, `selected` for one about the account. */
export interface Authorized {
  /** undefined: a portal session. */
  readonly signedIn?: SignedIn;
  readonly selected?: Selected;
}

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

interface AdmissionParts {
  readonly backend: Pick<Backend, 'portalSessions'>;
  readonly sessions: Sessions;
  readonly config: Pick<DashboardConfig, 'publicUrl' | 'trustedProxies'>;
}

/**
 * The checks that every call of an endpoint must pass before its body is read, in this order:
 *
 * 1. 403 `cross_site_request`: a change comes from a page of this dashboard
 * 2. 401: the portal session or, without one, the session of the user. 429 if it makes too many calls. Auth confirms
 *    that it is valid
 * 3. 403 `session_changed`: a change by a user carries the CSRF token of the session
 * 4. 404 and 403: workspace and environment, and the permission that the endpoint requires
 * 5. 429: calls of all users in the workspace and environment
 *
 * An open endpoint requires only the first one.
 */
export class Admission {
  readonly #parts: AdmissionParts;
  readonly #rates = new UserRates();

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
  }

  /** Returns who makes the call. Throws if it is refused. */
  async admit(endpoint: Guarded, request: Request, response: PageResponse): Promise<Authorized> {
    if (endpoint.method !== 'get') checkSameOrigin(request, ownOrigin(request, this.#parts.config));
    const authorized = await this.authorize(endpoint, request, response);
    if (authorized.selected) await this.#rates.takeTenant(toTenant(authorized.selected.tenant));
    return authorized;
  }

  /** Steps 2 to 4. A long-running call repeats them. */
  async authorize({ method, access }: Guarded, request: Request, response: PageResponse): Promise<Authorized> {
    if (access === 'open') return {};
    const { workspace = '', environment = '' } = request.params as Record<string, string>;
    const portalSession = portalHeader in request.headers ? await this.findPortalSession(request) : undefined;
    if (portalSession) {
      response.locals.portalSessionId = portalSession.id;
      if (access === 'account') throw new Refusal('not_signed_in');
      return { selected: checkPortalTenant(portalSession, { workspace, environment }, access) };
    }
    const { sessions } = this.#parts;
    const found = await sessions.find(request);
    if (found.session.userId === '') throw new Refusal('second_factor_required');
    await this.#rates.takeUser(found.session.userId);
    const signedIn = await sessions.confirm(found, response);
    if (method !== 'get') checkCsrfToken(request, signedIn.session);
    if (access === 'account') return { signedIn };
    return { signedIn, selected: checkTenant(signedIn, { workspace, environment }, access) };
  }

  /**
   * Returns a request's portal session; undefined if the request names none. Pages send the token in a header that
   * browsers never add themselves. Throws `portal_session_ended` if the session is not valid, and `rate_limit_exceeded`
   * if it makes too many calls.
   */
  async findPortalSession({ headers }: IncomingMessage): Promise<PortalSession | undefined> {
    if (headers[portalHeader] === undefined) return undefined;
    const { portalSessions } = this.#parts.backend;
    const token = String(headers[portalHeader]);
    const session = tokenForm.test(token) ? (await portalSessions.checkPortalSession({ token })).session : undefined;
    if (!session) throw new Refusal('portal_session_ended');
    await this.#rates.takeUser(session.id);
    return session;
  }
}

const portalHeader = 'x-portal-token';
const tokenForm = /^[\w-]{43}$/;

/**
 * Rejects a change requested by a page of another site. Current browsers send Sec-Fetch-Site or at least Origin. This
 * is the first defense of OWASP's Cross-Site Request Forgery Prevention; the second is {@link checkCsrfToken}.
 */
function checkSameOrigin({ headers }: IncomingMessage, origin: string): void {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') throw new Refusal('cross_site_request');
  if (headers.origin !== origin) throw new Refusal('cross_site_request');
}

/**
 * Rejects a change without the CSRF token of the session, which only the dashboard's own pages can read. A page that was
 * loaded in an earlier session has the token of that session; it reads the account again, which has the new one.
 */
function checkCsrfToken({ headers }: IncomingMessage, { csrfToken }: Session): void {
  const sent = Buffer.from(String(headers['x-csrf-token'] ?? ''));
  const wanted = Buffer.from(csrfToken);
  if (sent.length !== wanted.length || !timingSafeEqual(sent, wanted)) throw new Refusal('session_changed');
}

const roles: EnumNames<Role, RoleMessage> = enumNames(RoleMessage);

/**
 * Checks that the user is a workspace member and that the role has the permission. This is the only such check.
 * Throws `not_found` if the workspace does not exist or the user is not a member, and `insufficient_role`.
 */
function checkTenant(
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

/**
 * Checks that a portal session is of the workspace and environment, and has the permission. This is the only such check.
 * Throws `not_found` and `insufficient_scope`.
 */
function checkPortalTenant(
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

/** Calls per minute. A user can have many tabs, and each reads several lists every few seconds. */
const ofUser = 1_200;
const ofTenant = 6_000;
const windowSeconds = 60;

const none: Limits = {
  rateLimitRequests: 0,
  workspaceRateLimitRequests: 0,
  rateLimitWindowSeconds: windowSeconds,
  monthlyQuota: 0,
};
const userLimits: Limits = { ...none, rateLimitRequests: ofUser };
const tenantLimits: Limits = { ...none, workspaceRateLimitRequests: ofTenant };

/**
 * Limits the calls of users at this instance. Pages stay far below the limits; a script with the session of a user would
 * otherwise have no limit, whereas API keys have one.
 */
export class UserRates {
  readonly #limiter = createMemoryLimiter({ ...none, authFailureLimit: 0 });

  /** Counts a call of a user or a portal session. Throws `rate_limit_exceeded`. */
  takeUser(userId: string): Promise<void> {
    return this.#take(
      { workspaceId: '', environment: 'live', keyId: userId, limits: userLimits },
      `You have made too many requests (limit: ${ofUser} per minute).`,
    );
  }

  /** Counts a call of any user in a workspace and environment. Throws `rate_limit_exceeded`. */
  takeTenant(tenant: Tenant): Promise<void> {
    return this.#take(
      { ...tenant, keyId: '', limits: tenantLimits },
      `The members of this workspace have made too many requests in this environment (limit: ${ofTenant} per minute).`,
    );
  }

  async #take(call: Omit<LimitCheck, 'keyVersion'>, exceeded: string): Promise<void> {
    const decision = await this.#limiter.check({ ...call, keyVersion: 0 });
    if (decision.outcome === 'allowed') return;
    const { retryAfterSeconds } = decision;
    const message = `${exceeded} ${tryAgainIn(retryAfterSeconds)}`;
    throw new RmsError('rate_limit_exceeded', { message, retryAfterSeconds });
  }
}
