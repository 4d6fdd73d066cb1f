import type { MessageInitShape } from '@bufbuild/protobuf';
import type { TraceContext } from '@rms/async/tracing';
import type { Permission } from '@rms/base/roles';
import type { Environment } from '@rms/base/tenant';
import type { Limits } from '@rms/limits';
import type { Response } from '@rms/net/http';
import type { CallContextSchema, Environment as EnvironmentMessage } from '@rms/proto/rms/common/v1/common_pb';
import type { ZodType } from 'zod';
// Declares the keys of `meta` that only the OpenAPI document uses.
import type {} from 'zod-openapi';
import type { Backend } from './backend.ts';
import type { Tag } from './tags.ts';

type CallContext = MessageInitShape<typeof CallContextSchema>;

/** The scope that an endpoint requires. Scopes are nested: admin includes write, write includes read. */
export type RequiredScope = 'read' | 'write' | 'admin';

/** What an endpoint requires of its caller: the scope of an API key, or the permission of a user's role. */
export interface Requirement {
  readonly scope: RequiredScope;
  readonly permission: Permission;
}

/** Limits of the caller and its workspace. 0: no limit. */
export interface CallerLimits extends Limits {
  /** Webhooks that the plan of the workspace allows. undefined: the plan does not set this limit. */
  readonly maxWebhooks: bigint | undefined;
}

/**
 * An admitted request. The gateway and the dashboard authenticate the caller, check the {@link Requirement} of the
 * endpoint, and provide these fields.
 */
export interface Admitted {
  /** Tenant of the request. Every RPC request contains it, so that no call reaches data of another workspace. */
  readonly tenant: { readonly workspaceId: string; readonly environment: EnvironmentMessage };
  readonly environment: Environment;
  /** Returns whether the caller meets the requirement of another endpoint. */
  may(other: Requirement): boolean;
  limits(): Promise<CallerLimits>;
  readonly requestId: string;
  readonly trace: TraceContext;
  /** Returns the context for RPCs that serve only this request. */
  context(): CallContext;
  /** The parameter of the path, usually `{id}`. Empty if the path has none. */
  readonly id: string;
  /** Returns the URL of the request without its query, for links. */
  url(): string;
  readonly backend: Backend;
  /**
   * Returns a signal that aborts when the client disconnects. Use it only for reads: a write continues without its
   * client.
   */
  signal(): AbortSignal;
}

/** The argument of an endpoint's handler: a request that has passed all checks. */
export interface Call<Query, Body> extends Admitted {
  readonly query: Query;
  readonly body: Body;
  /** Empty if the client sent none, or if the endpoint does not support it. */
  readonly idempotencyKey: string;
  /** Versions from If-Match, one of which the object must have. Empty: any. Only for conditional endpoints. */
  readonly expectedVersions: bigint[];
}

interface Success {
  readonly status: 200 | 201 | 202 | 204;
  readonly description: string;
  readonly schema?: ZodType;
}

/**
 * One method of a path: its requirements, input schemas and handler. The gateway serves it to API keys, and generates
 * the OpenAPI document from it. The dashboard serves it to users, without "/v1" and below
 * "/api/workspaces/{workspace}/{environment}".
 */
export interface Endpoint<Query = unknown, Body = unknown> extends Requirement {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** "/v1/things", "/v1/things/{id}" or "/v1/things/{id}/verb". The parameter can have another name than `id`. */
  readonly path: `/v1/${string}`;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tag: Tag;
  /** Whether the endpoint supports Idempotency-Key. */
  readonly idempotent?: boolean;
  readonly query?: ZodType<Query>;
  /** The query that users may send, if pages need filters that the API does not have. */
  readonly queryOfUsers?: ZodType<Query>;
  readonly body?: ZodType<Body>;
  /** Whether the body names another object. If that does not exist, the response is 404. */
  readonly bodyNamesObject?: boolean;
  /** Whether a request without a body is treated like one with `{}`. */
  readonly optionalBody?: boolean;
  /**
   * Whether the endpoint concerns one object and returns it with an ETag (see `oneResponse`). Then GET supports
   * If-None-Match, and PATCH, PUT and DELETE support If-Match.
   */
  readonly conditional?: boolean;
  readonly success: Success;
  /** Another successful response, with another status. */
  readonly otherSuccess?: Success;
  handle(call: Call<Query, Body>): Promise<Response>;
}

/** Returns the name of the parameter of a path; undefined if it has none. */
export function parameterOf(path: string): string | undefined {
  return /\{(\w+)\}/.exec(path)?.[1];
}

/** Type-checks an endpoint against its own schemas, then erases their types so that all endpoints fit in one list. */
export function defineEndpoint<Query, Body>(endpoint: Endpoint<Query, Body>): Endpoint {
  return endpoint as Endpoint;
}
