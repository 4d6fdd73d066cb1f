import type { IncomingMessage } from 'node:http';
import { type CidrList, clientAddress, requestIdOf } from '@rms/http';
import type { Response } from 'express';

/** What is known of a request while it is served. */
export type Locals = {
  readonly requestId: string;
  readonly startedAtMs: number;
  /** Known once the person is. */
  userId: string | undefined;
  /** The client's address; worked out when it is first asked for. */
  address(): string;
};

export type PageResponse = Response<unknown, Locals>;

export function newLocals(request: IncomingMessage, trustedProxies: CidrList): Locals {
  let address: string | undefined;
  return {
    requestId: requestIdOf(request),
    startedAtMs: performance.now(),
    userId: undefined,
    address() {
      address ??= clientAddress(request, trustedProxies).address;
      return address;
    },
  };
}
