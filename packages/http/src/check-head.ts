import type { IncomingMessage } from 'node:http';
import { RmsError } from '@rms/errors';

const longestUrl = 8 * 1024;
const mostHeaders = 100;
const hostForm = /^(?:[\w.-]{1,255}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i;
/** Two of one of these could mean one thing to a proxy and another to us. */
const single = new Set(['host', 'authorization', 'content-type', 'content-encoding', 'idempotency-key']);
const lengthsOfSingle = new Set([...single].map((name) => name.length));

/** What every request is held to before its path counts. Throws `uri_too_long`, `headers_too_large` or `invalid_request`. */
export function checkHead({ url = '', rawHeaders, headers, httpVersion }: IncomingMessage): void {
  if (url.length > longestUrl) throw new RmsError('uri_too_long');
  if (rawHeaders.length > 2 * mostHeaders) throw new RmsError('headers_too_large');
  const repeated = repeatedHeader(rawHeaders);
  if (repeated !== undefined) throw refused(repeated, 'is repeated');
  const { host } = headers;
  // Links are made of it.
  if (host === undefined ? httpVersion !== '1.0' : !hostForm.test(host)) throw refused('Host', 'must name a host');
}

/** Node keeps the first of two; `rawHeaders` has names and values in turn. */
function repeatedHeader(rawHeaders: readonly string[]): string | undefined {
  let seen: string[] | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const sent = rawHeaders[i] as string;
    if (!lengthsOfSingle.has(sent.length)) continue;
    const name = sent.toLowerCase();
    if (!single.has(name)) continue;
    if (seen?.includes(name)) return sent;
    seen ??= [];
    seen.push(name);
  }
  return undefined;
}

function refused(field: string, message: string): RmsError {
  return new RmsError('invalid_request', { details: [{ field, message }] });
}
