import type { MessageInitShape } from '@bufbuild/protobuf';
import type { CallContextSchema, Environment } from '@rms/proto/rms/common/v1/common_pb';
import type { Permission, Role } from '@rms/roles';
import type { Request } from 'express';
import type { ZodType } from 'zod';
import type { Sessions, SignedIn } from '../checks/sessions.ts';
import type { DashboardConfig } from '../config.ts';
import type { Backend } from '../context.ts';
import type { PageResponse } from '../http/locals.ts';
import type { SessionStore } from '../session/session-store.ts';
import type { TailHub } from '../tail/tail-hub.ts';

type CallContext = MessageInitShape<typeof CallContextSchema>;

/** What every call has, whoever sends it. */
export interface OpenCall<Query, Body> {
  readonly query: Query;
  readonly body: Body;
  /** What `{name}` of the path stands for. */
  param(name: string): string;
  readonly request: Request;
  readonly response: PageResponse;
  readonly config: DashboardConfig;
  readonly backend: Backend;
  readonly sessions: Sessions;
  readonly store: SessionStore;
  /** For which request, from where, and on behalf of whom, for the service that is called. */
  readonly context: CallContext;
  /** Aborts when the browser goes away. For reads: a change goes on, whoever waits for it. */
  signal(): AbortSignal;
}

/** A call of somebody who is signed in. */
export interface AccountCall<Query, Body> extends OpenCall<Query, Body> {
  readonly who: SignedIn;
}

/** A call in one workspace and environment, by a member whose role allows it. */
export interface TenantCall<Query, Body> extends AccountCall<Query, Body> {
  /** Goes into every request to a service: nothing of another workspace is reached. */
  readonly tenant: { readonly workspaceId: string; readonly environment: Environment };
  readonly role: Role;
  readonly tails: Pick<TailHub, 'join'>;
  /** For what takes long: throws if the session or the role have ended meanwhile. */
  checkAgain(): Promise<void>;
}

interface Shape<Query, Body> {
  readonly method: 'get' | 'post' | 'patch' | 'delete';
  readonly query?: ZodType<Query>;
  readonly body?: ZodType<Body>;
}

/** "/api/sign-in": for anybody. */
export interface OpenEndpoint<Query = unknown, Body = unknown> extends Shape<Query, Body> {
  readonly access: 'open';
  readonly path: `/api/${string}`;
  /** Resolves to the JSON document; undefined: 204, unless it has answered by itself. */
  handle(call: OpenCall<Query, Body>): Promise<object | undefined>;
}

/** "/api/account/…": for who is signed in, about themselves. */
export interface AccountEndpoint<Query = unknown, Body = unknown> extends Shape<Query, Body> {
  readonly access: 'account';
  readonly path: `/api/account${string}`;
  handle(call: AccountCall<Query, Body>): Promise<object | undefined>;
}

/** Below "/api/workspaces/{workspace}/{environment}": for members whose role has the permission. */
export interface TenantEndpoint<Query = unknown, Body = unknown> extends Shape<Query, Body> {
  readonly access: Permission;
  readonly path: `/${string}`;
  handle(call: TenantCall<Query, Body>): Promise<object | undefined>;
}

export type Endpoint = OpenEndpoint | AccountEndpoint | TenantEndpoint;

/** Where endpoints of a workspace are. */
export const tenantPrefix = '/api/workspaces/{workspace}/{environment}';

/** The whole path of an endpoint. */
export function pathOf({ access, path }: Endpoint): string {
  return access === 'open' || access === 'account' ? path : tenantPrefix + path;
}

/** Each holds an endpoint to its own schemas, then forgets them, so that all kinds fit in one list. */
export function openEndpoint<Query, Body>(endpoint: OpenEndpoint<Query, Body>): Endpoint {
  return endpoint as OpenEndpoint;
}

export function accountEndpoint<Query, Body>(endpoint: AccountEndpoint<Query, Body>): Endpoint {
  return endpoint as AccountEndpoint;
}

export function tenantEndpoint<Query, Body>(endpoint: TenantEndpoint<Query, Body>): Endpoint {
  return endpoint as TenantEndpoint;
}
