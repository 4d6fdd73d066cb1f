import type { IncomingMessage } from 'node:http';
import type { CidrList } from '@rms/base/cidr';
import { type Client, clientOf, requestIdOf } from '@rms/net/http';
import type { Response } from 'express';

/** State of a request. */
export type Locals = {
  readonly requestId: string;
  readonly startedAtMs: number;
  /** Set once the session has been checked. */
  userId: string | undefined;
  /** Public error code of the response. Empty if it is not an error. */
  errorCode: string;
  /** Returns the client, determined on first use. */
  client(): Client;
};

export type PageResponse = Response<unknown, Locals>;

export function newLocals(request: IncomingMessage, trustedProxies: CidrList): Locals {
  return {
    requestId: requestIdOf(request),
    startedAtMs: performance.now(),
    userId: undefined,
    errorCode: '',
    client: () => clientOf(request, trustedProxies),
  };
}
