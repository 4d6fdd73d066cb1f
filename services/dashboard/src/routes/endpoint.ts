import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Endpoint as ApiEndpoint } from '@rms/api';
import type { Permission } from '@rms/base/roles';
import type { CallContextSchema, Environment } from '@rms/proto/rms/common/v1/common_pb';
import type { Request } from 'express';
import type { ZodType } from 'zod';
import type { Admission } from '../checks/admission.ts';
import type { Sessions, SignedIn } from '../checks/sessions.ts';
import type { DashboardConfig } from '../config.ts';
import type { Backend } from '../context.ts';
import type { PageResponse } from '../http/locals.ts';
import type { Session, SessionStore } from '../session/session.ts';
import type { TailHub } from '../tail/tail-hub.ts';

type CallContext = MessageInitShape<typeof CallContextSchema>;

/**
 * Signs out at the provider, after the session ends. Returns the URL that the browser must open to end the session
 * there. Returns undefined if OIDC_SIGN_OUT is not set, the session did not begin at the provider, or the provider
 * offers no such URL; the next sign-in then asks to choose an account.
 */
export type SignOutOfProvider = (
  request: Request,
  response: PageResponse,
  session: Pick<Session, 'idToken'>,
) => Promise<URL | undefined>;

/** Parts of every call. */
export interface OpenCall<Query, Body> {
  readonly query: Query;
  readonly body: Body;
  /** Returns a path parameter's value. */
  param(name: string): string;
  readonly request: Request;
  readonly response: PageResponse;
  readonly config: DashboardConfig;
  readonly backend: Backend;
  readonly sessions: Sessions;
  readonly admission: Pick<Admission, 'findPortalSession'>;
  readonly store: SessionStore;
  /** Undefined without single sign-on. */
  readonly signOutOfProvider: SignOutOfProvider | undefined;
  /** Request ID, client address and actor, for RPC calls. */
  readonly context: CallContext;
  /** Returns a signal that aborts when the browser disconnects. For reads only: a change must complete anyway. */
  signal(): AbortSignal;
}

/** Call of a signed-in user. */
export interface AccountCall<Query, Body> extends OpenCall<Query, Body> {
  readonly signedIn: SignedIn;
}

/** Call in one workspace and environment, by a member or a portal session with the permission. */
export interface TenantCall<Query, Body> extends OpenCall<Query, Body> {
  /** Tenant of the call. Every RPC request contains it, so that no call reaches data of another workspace. */
  readonly tenant: { readonly workspaceId: string; readonly environment: Environment };
  /** ID of the user or of the portal session. */
  readonly callerId: string;
  /**
   * Idempotency key of the change. Differs if the caller, the request's content, or the Idempotency-Key that the page
   * sent differ. Empty if the page sent none.
   */
  readonly idempotencyKey: string;
  readonly tails: Pick<TailHub, 'join'>;
  /** For long-running calls: throws if the session or the membership ended since. */
  checkAgain(): Promise<unknown>;
}

interface Shape<Query, Body> {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  readonly query?: ZodType<Query>;
  readonly body?: ZodType<Body>;
}

/** Public endpoint ("/api/sign-in"). */
export interface OpenEndpoint<Query = unknown, Body = unknown> extends Shape<Query, Body> {
  readonly access: 'open';
  readonly path: `/api/${string}`;
  /** Returns the JSON document of the response. Undefined: 204, unless the handler has sent the response itself. */
  handle(call: OpenCall<Query, Body>): Promise<object | undefined>;
}

/** Endpoint for signed-in users about their own account ("/api/account/…"). */
export interface AccountEndpoint<Query = unknown, Body = unknown> extends Shape<Query, Body> {
  readonly access: 'account';
  readonly path: `/api/account${string}`;
  handle(call: AccountCall<Query, Body>): Promise<object | undefined>;
}

/** Endpoint below "/api/workspaces/{workspace}/{environment}", for members and portal sessions with the permission. */
interface TenantEndpoint<Query = unknown, Body = unknown> extends Shape<Query, Body> {
  readonly access: Permission;
  readonly path: `/${string}`;
  handle(call: TenantCall<Query, Body>): Promise<object | undefined>;
}

/** Endpoint of the API, served to users: the path without "/v1", at the place of a {@link TenantEndpoint}. */
interface ServedApiEndpoint extends Omit<TenantEndpoint, 'handle'> {
  readonly api: ApiEndpoint;
}

export type Endpoint = OpenEndpoint | AccountEndpoint | TenantEndpoint | ServedApiEndpoint;

/** Path prefix of a workspace's endpoints. */
const tenantPrefix = '/api/workspaces/{workspace}/{environment}';

/** Returns the full path of an endpoint. */
export function pathOf({ access, path }: Endpoint): string {
  return access === 'open' || access === 'account' ? path : tenantPrefix + path;
}

/**
 * Returns the route of an endpoint in the request log, in the format of gateways ("/v1/webhooks/:id"). An endpoint of the
 * API has the same route as for API keys.
 */
export function routeOf(endpoint: Endpoint): string {
  return ('api' in endpoint ? endpoint.api.path : pathOf(endpoint)).replaceAll(/\{(\w+)\}/g, ':$1');
}

/**
 * Returns the maximum size of the body of an endpoint; undefined: that of every request. Bodies of endpoints without a
 * workspace contain little more than a token, an email address and passwords, and open endpoints have no session.
 */
export function bodyLimitKibOf({ access }: Endpoint): number | undefined {
  return access === 'open' || access === 'account' ? 8 : undefined;
}

/** Serves an endpoint of the API to users. */
export function apiEndpoint(api: ApiEndpoint): Endpoint {
  const { permissionOfUsers: access = api.permission, method, path, queryOfUsers: query = api.query, body } = api;
  const served = { ...(query ? { query } : {}), ...(body ? { body } : {}) };
  return { access, method, path: path.slice('/v1'.length) as `/${string}`, ...served, api: { ...api, ...served } };
}

/**
 * The three functions check an endpoint against its own schemas, then erase their types, so that one list can hold all
 * endpoints.
 */
export function openEndpoint<Query, Body>(endpoint: OpenEndpoint<Query, Body>): Endpoint {
  return endpoint as OpenEndpoint;
}

export function accountEndpoint<Query, Body>(endpoint: AccountEndpoint<Query, Body>): Endpoint {
  return endpoint as AccountEndpoint;
}

export function tenantEndpoint<Query, Body>(endpoint: TenantEndpoint<Query, Body>): Endpoint {
  return endpoint as TenantEndpoint;
}
