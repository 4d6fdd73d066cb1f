import type { IncomingMessage } from 'node:http';
import { newId } from '@rms/ids';

const acceptable = /^[A-Za-z0-9._+/=-]{8,128}$/;

/** The client's X-Request-ID if it can be used as it is, else a new one. */
export function requestIdOf(request: IncomingMessage): string {
  const sent = request.headers['x-request-id'];
  return typeof sent === 'string' && acceptable.test(sent) ? sent : newId('req');
}
