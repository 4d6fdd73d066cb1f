import type { IncomingMessage } from 'node:http';
import { newId } from '@rms/base/ids';

const acceptable = /^[A-Za-z0-9._+/=-]{8,128}$/;

/** Returns the client's X-Request-ID if it is acceptable, otherwise a new ID. */
export function requestIdOf(request: IncomingMessage): string {
  const sent = request.headers['x-request-id'];
  return typeof sent === 'string' && acceptable.test(sent) ? sent : newId('req');
}
