import type { IncomingMessage } from 'node:http';
import { RmsError } from '@rms/base/errors';
import { newId } from '@rms/base/ids';

const absoluteForm = /^https?:\/\/([^/?#]*)([^#]*)/i;

/**
 * Rewrites an absolute-form request target ("GET http://host/v1/resources") to its path and query, and Host to the host
 * of the target (RFC 9112, 3.2.2), so that routing, logs and traces see one form. Keeps a Host that is missing or
 * invalid, because such a request is refused in any form. Call it before anything reads `request.url`.
 */
export function normalizeTarget(request: IncomingMessage): void {
  const { url = '/', headers, httpVersion } = request;
  if (url.startsWith('/')) return;
  const parts = absoluteForm.exec(url);
  if (!parts) return;
  const [, host = '', rest = ''] = parts;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
  if (headers.host === undefined ? httpVersion === '1.0' : isHost(headers.host)) headers.host = host;
}

const acceptableId = /^[A-Za-z0-9._+/=-]{8,128}$/;

/** Returns the client's X-Request-ID if it is acceptable, otherwise a new ID. */
export function requestIdOf(request: IncomingMessage): string {
  const sent = request.headers['x-request-id'];
  return typeof sent === 'string' && acceptableId.test(sent) ? sent : newId('req');
}

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

const hostForm = /^(?:[\w.-]{1,255}|\[[0-9a-f:.]{2,45}\])(?::\d{0,5})?$/i;

/**
 * Returns whether a text is a host with an optional port, which can be empty (RFC 9110, 7.2). Rejects hosts and ports
 * that a URL cannot contain, such as 1.2.3.999 or 99999: links in responses would be invalid.
 */
function isHost(text: string): boolean {
  return hostForm.test(text) && URL.canParse(`http://${text}`);
}
