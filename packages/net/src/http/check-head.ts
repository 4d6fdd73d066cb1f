import type { IncomingMessage } from 'node:http';
import { RmsError } from '@rms/base/errors';
import { expectsContinue } from './expectation.ts';
import { isHost } from './host.ts';

const longestUrlKib = 8;
const maxHeaders = 100;
/** Headers that must not be repeated: a proxy and this server could use different occurrences. */
const single = new Set(['host', 'authorization', 'content-type', 'content-encoding', 'idempotency-key']);
const lengthsOfSingle = new Set([...single].map((name) => name.length));

/**
 * Checks the request target and headers before routing, after `normalizeTarget`. Throws `uri_too_long`,
 * `headers_too_large`, `expectation_failed` or `invalid_request`.
 */
export function checkHead(request: IncomingMessage): void {
  const { url = '/', rawHeaders, headers, httpVersion } = request;
  if (url.length > longestUrlKib * 1024) {
    throw new RmsError('uri_too_long', { message: `The request URL has more than ${longestUrlKib} KiB.` });
  }
  if (rawHeaders.length > 2 * maxHeaders) {
    throw new RmsError('headers_too_large', { message: `The request has more than ${maxHeaders} headers.` });
  }
  const repeated = repeatedHeader(rawHeaders);
  if (repeated !== undefined) throw refused(repeated, 'is repeated');
  if (!url.startsWith('/') && url !== '*') throw refused('request target', 'must be a path or an http or https URL');
  const { host, 'transfer-encoding': coding = 'chunked' } = headers;
  // Node's parser accepts other codings before chunked, and does not decode them.
  if (coding.toLowerCase() !== 'chunked') throw refused('Transfer-Encoding', 'must be chunked');
  // Links in responses are built from this header.
  if (host === undefined ? httpVersion !== '1.0' : !isHost(host)) throw refused('Host', 'must be a valid host');
  expectsContinue(request);
}

/**
 * Returns the first repeated header. Uses `rawHeaders` (alternating names and values), because `headers` keeps only the
 * first value.
 */
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
