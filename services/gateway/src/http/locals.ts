import type { IncomingMessage } from 'node:http';
import { type CidrList, type ClientAddress, clientAddress, requestIdOf } from '@rms/http';
import type { Response } from 'express';

/** What is known of a request while it is served. */
export type Locals = {
  readonly requestId: string;
  readonly startedAtMs: number;
  /** Known once the caller is. */
  keyId: string | undefined;
  /** Worked out when it is first asked for. */
  client(): ClientAddress;
};

export type ApiResponse = Response<unknown, Locals>;

export function newLocals(request: IncomingMessage, trustedProxies: CidrList): Locals {
  let client: ClientAddress | undefined;
  return {
    requestId: requestIdOf(request),
    startedAtMs: performance.now(),
    keyId: undefined,
    client() {
      client ??= clientAddress(request, trustedProxies);
      return client;
    },
  };
}
