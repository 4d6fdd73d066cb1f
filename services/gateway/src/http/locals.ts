import type { IncomingMessage } from 'node:http';
import type { LimitDecision } from '@rms/limiter';
import type { Response } from 'express';
import type { CidrList } from '../checks/cidr-list.ts';
import { type ClientAddress, clientAddress } from '../checks/client-address.ts';
import { requestIdOf } from '../checks/request-id.ts';

/** What is known of a request while it is served. */
export type Locals = {
  readonly requestId: string;
  readonly startedAtMs: number;
  /** Known once the caller is. */
  keyId: string | undefined;
  /** What the limits said; undefined: they were not asked. */
  limitOutcome: LimitDecision['outcome'] | undefined;
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
    limitOutcome: undefined,
    client() {
      client ??= clientAddress(request, trustedProxies);
      return client;
    },
  };
}
