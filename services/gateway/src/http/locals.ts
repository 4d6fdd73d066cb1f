import type { IncomingMessage } from 'node:http';
import { type CidrList, type ClientAddress, clientAddress, requestIdOf } from '@rms/http';
import type { LimitDecision } from '@rms/limiter';
import type { Span } from '@rms/tracing';
import type { Response } from 'express';

/** What is known of a request while it is served. */
export type Locals = {
  readonly requestId: string;
  readonly startedAtMs: number;
  /** The span of this request, if it is traced. */
  span: Span | undefined;
  /** What the calls that are made for this request carry on; empty: nothing is traced. */
  traceparent: string;
  /** Known once the caller is, like the key. */
  workspaceId: string | undefined;
  keyId: string | undefined;
  /** What the limits said; undefined: they were not asked. */
  limitOutcome: LimitDecision['outcome'] | undefined;
  /** The public code of what it is answered with, if that is an error. */
  errorCode: string | undefined;
  /** When each step had ended (performance.now()); undefined: it has not. */
  readonly steps: { authenticatedAtMs?: number; limitedAtMs?: number; handledAtMs?: number };
  /** Worked out when it is first asked for. */
  client(): ClientAddress;
};

export type ApiResponse = Response<unknown, Locals>;

export function newLocals(request: IncomingMessage, trustedProxies: CidrList): Locals {
  let client: ClientAddress | undefined;
  return {
    requestId: requestIdOf(request),
    startedAtMs: performance.now(),
    span: undefined,
    traceparent: '',
    workspaceId: undefined,
    keyId: undefined,
    limitOutcome: undefined,
    errorCode: undefined,
    steps: {},
    client() {
      client ??= clientAddress(request, trustedProxies);
      return client;
    },
  };
}
