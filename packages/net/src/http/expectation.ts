import type { IncomingMessage } from 'node:http';
import { RmsError } from '@rms/base/errors';

/**
 * Returns whether the client waits for "100 Continue" before it sends the body (RFC 9110, 10.1.1). An HTTP/1.0 client
 * cannot read that response, so its Expect header is ignored. Throws `expectation_failed` for other expectations.
 */
export function expectsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  const { expect } = headers;
  if (expect === undefined || httpVersion === '1.0') return false;
  const members = expect.split(',').map((member) => member.trim().toLowerCase());
  const given = members.filter((member) => member !== '');
  if (given.some((member) => member !== '100-continue')) throw new RmsError('expectation_failed');
  return given.length > 0;
}
