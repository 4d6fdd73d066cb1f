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

/** Limits of the caller and its workspace. 0: no limit. */
export interface CallerLimits extends Limits {
  /** Webhooks that the workspace's plan allows. undefined: the plan does not set this limit. */
  readonly maxWebhooks: bigint | undefined;
}

/**
 * An admitted request. The gateway and the dashboard authenticate the caller, check the permission that the endpoint
 * requires, and provide these fields.
 */
export interface Admitted {
  /** Tenant of the request. Every RPC request contains it, so that no call reaches data of another workspace. */
  readonly tenant: { readonly workspaceId: string; readonly environment: EnvironmentMessage };
  readonly environment: Environment;
  /** Returns whether the caller has another permission than the required one. */
  may(other: Permission): boolean;
  limits(): Promise<CallerLimits>;
  readonly requestId: string;
  readonly trace: TraceContext;
  /** Returns the context for RPCs that serve only this request. */
  context(): CallContext;
  /** The path's parameter, usually `{id}`. Empty if the path has none. */
  readonly id: string;
  /** Returns the request's URL without its query, for links. */
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
  /** Versions from If-Match. The object must have one of them. Empty: any. Only for conditional endpoints. */
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
export interface Endpoint<Query = unknown, Body = unknown> {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** "/v1/things", "/v1/things/{id}" or "/v1/things/{id}/verb". The parameter can have another name than `id`. */
  readonly path: `/v1/${string}`;
  readonly operationId: string;
  /** The permission that the API key, or the user's role, must have. */
  readonly permission: Permission;
  readonly summary: string;
  readonly description?: string;
  readonly tag: Tag;
  /** Whether the endpoint supports Idempotency-Key. */
  readonly idempotent?: boolean;
  readonly query?: ZodType<Query>;
  /** The query that users may send, if pages need filters that the API does not have. */
  readonly queryOfUsers?: ZodType<Query>;
  readonly body?: ZodType<Body>;
  /** Whether the body identifies another object. If that does not exist, the response is 404. */
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

/** Returns a path parameter's name; undefined if it has none. */
export function parameterOf(path: string): string | undefined {
  return /\{(\w+)\}/.exec(path)?.[1];
}

/** Type-checks an endpoint against its own schemas, then erases their types so that all endpoints fit in one list. */
export function defineEndpoint<Query, Body>(endpoint: Endpoint<Query, Body>): Endpoint {
  return endpoint as Endpoint;
}
