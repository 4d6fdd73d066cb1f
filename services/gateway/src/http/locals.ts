import type { IncomingMessage } from 'node:http';
import type { Response } from 'express';
import { requestIdOf } from '../checks/request-id.ts';

/** What is known of a request while it is served. */
export type Locals = {
  readonly requestId: string;
  readonly startedAtMs: number;
  /** Known once the caller is. */
  keyId: string | undefined;
};

export type ApiResponse = Response<unknown, Locals>;

export function newLocals(request: IncomingMessage): Locals {
  return { requestId: requestIdOf(request), startedAtMs: performance.now(), keyId: undefined };
}
