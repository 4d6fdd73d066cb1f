import type { IncomingMessage } from 'node:http';
import { type Span, type TraceContext, untraced } from '@rms/async/tracing';
import type { CidrList } from '@rms/base/cidr';
import type { LimitDecision } from '@rms/limits';
import { type Client, clientOf, requestIdOf } from '@rms/net/http';
import type { Response } from 'express';

/** State of a request while it is served. */
export type Locals = {
  readonly requestId: string;
  readonly startedAtMs: number;
  /** Span of this request if it is traced. */
  span: Span | undefined;
  /** Trace context that the RPCs of this request propagate. */
  trace: TraceContext;
  /** Set after authentication, like `keyId`. */
  workspaceId: string | undefined;
  keyId: string | undefined;
  /** Result of the limit check. undefined if the check did not run. */
  limitOutcome: LimitDecision['outcome'] | undefined;
  /** Public error code of the response, if it is an error. */
  errorCode: string | undefined;
  /** End of each step (performance.now()). undefined if it is not over. */
  readonly steps: { authenticatedAtMs?: number; limitedAtMs?: number; handledAtMs?: number };
  /** Returns the client, determined on the first call. */
  client(): Client;
};

export type ApiResponse = Response<unknown, Locals>;

export function newLocals(request: IncomingMessage, trustedProxies: CidrList): Locals {
  return {
    requestId: requestIdOf(request),
    startedAtMs: performance.now(),
    span: undefined,
    trace: untraced,
    workspaceId: undefined,
    keyId: undefined,
    limitOutcome: undefined,
    errorCode: undefined,
    steps: {},
    client: () => clientOf(request, trustedProxies),
  };
}
