import type { MessageInitShape } from '@bufbuild/protobuf';
import type { KeyEnvironment } from '@rms/api-key';
import type { Answer } from '@rms/http';
import type { CallContextSchema, Principal } from '@rms/proto/rms/common/v1/common_pb';
import type { ZodType } from 'zod';
import type { Backend } from '../backend/backend.ts';
import type { RequiredScope } from '../checks/scope.ts';

type CallContext = MessageInitShape<typeof CallContextSchema>;

/** A request that has passed every check, as an endpoint sees it. */
export interface Call<Query, Body> {
  readonly principal: Principal;
  readonly environment: KeyEnvironment;
  readonly requestId: string;
  /** Empty: nothing is traced. */
  readonly traceparent: string;
  /** Who calls and for which request, for a call that serves this request alone. */
  context(): CallContext;
  /** The `{id}` of the path; empty if it has none. */
  readonly id: string;
  readonly query: Query;
  readonly body: Body;
  /** Empty if none was sent, or the endpoint knows none. */
  readonly idempotencyKey: string;
  /** "https://api.example.com", without a slash at the end. */
  baseUrl(): string;
  readonly backend: Backend;
  /** Aborts when the client goes away. For reads: a write goes on, whoever waits for it. */
  signal(): AbortSignal;
}

/** One method of one path: what it asks of the caller, what it takes, what it does. openapi/ describes the same object. */
export interface Endpoint<Query = unknown, Body = unknown> {
  readonly method: 'get' | 'post' | 'patch' | 'delete';
  /** "/v1/things" or "/v1/things/{id}". */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tag: 'Resources' | 'Webhooks' | 'Events';
  readonly scope: RequiredScope;
  /** Whether it heeds Idempotency-Key. */
  readonly idempotent?: boolean;
  readonly query?: ZodType<Query>;
  readonly body?: ZodType<Body>;
  readonly success: { readonly status: 200 | 201 | 204; readonly description: string; readonly schema?: ZodType };
  handle(call: Call<Query, Body>): Promise<Answer>;
}

/** Holds an endpoint to its own schemas, then forgets them, so that endpoints of all kinds fit in one list. */
export function defineEndpoint<Query, Body>(endpoint: Endpoint<Query, Body>): Endpoint {
  return endpoint as Endpoint;
}
