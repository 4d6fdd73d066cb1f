import { EventEmitter } from 'node:events';
import { type DeliveryContent, deliveryHeaders, type SigningSecrets } from '@rms/signature';
import { rounded, watchRequest } from '../../egress/connection-times.ts';
import { BlockedAddressError } from '../../egress/guard.ts';
import type { OriginPools } from '../../egress/origin-pools.ts';
import type { AttemptResult, HeaderPair } from '../../log/attempt.ts';
import { parseRetryAfter } from '../../subscription/retry-policy.ts';
import { attemptTimeoutMs } from './job.ts';

/** An HTTP call to make. */
export interface Outgoing extends DeliveryContent {
  readonly url: string;
}

const responseLimitBytes = 16 * 1024;
/** Parsing a 1xx response costs CPU time; an endless stream of them must be cut off. */
const hintsLimit = 16;
/** The log keeps at most this many response headers, each truncated to `headerLimit` characters. */
const headersKept = 64;
const headerLimit = 1_024;

/**
 * An alternative to AbortSignal that undici accepts. Node 20 retains the objects that an AbortSignal references until a
 * major collection.
 */
class Abortable extends EventEmitter {
  reason: Error | undefined;

  abort(reason?: Error): void {
    this.reason = reason;
    this.emit('abort');
  }
}

/**
 * Makes one attempt: a signed POST. The whole response, including the body, must arrive within 10 seconds. Never
 * rejects: every error becomes the result of the attempt. Only status 200 is a success; redirects are not followed.
 */
export async function send(agent: OriginPools, secrets: SigningSecrets, outgoing: Outgoing): Promise<AttemptResult> {
  const { url, body } = outgoing;
  const startedAt = new Date();
  const startedAtMs = performance.now();
  const headers = deliveryHeaders(secrets, outgoing, startedAt.getTime());
  const attempt = new Abortable();
  const timer = setTimeout(() => attempt.abort(), attemptTimeoutMs);
  let hints = 0;
  const onInfo = () => {
    hints += 1;
    if (hints > hintsLimit) attempt.abort(new Error(`more than ${hintsLimit} responses with status 1xx`));
  };
  const { watch, started } = watchRequest(async () =>
    agent.request({ ...requestTarget(url), method: 'POST', body, headers, signal: attempt, onInfo }),
  );
  let firstByteMs: number | undefined;
  const result = (response: Pick<AttemptResult, 'statusCode' | 'error'> & Partial<AttemptResult>): AttemptResult => ({
    startedAt,
    durationMs: Math.round(performance.now() - startedAtMs),
    timings: { ...watch.times, firstByte: firstByteMs },
    address: watch.address,
    requestHeaders: Object.entries(headers),
    responseHeaders: [],
    responseBody: Buffer.alloc(0),
    retryAfterMs: undefined,
    ...response,
  });
  try {
    const response = await started;
    firstByteMs = rounded(performance.now() - (watch.sentAtMs ?? startedAtMs));
    const { statusCode } = response;
    const responseBody = await readStart(response.body);
    const retryAfter = String(response.headers['retry-after'] ?? '') || undefined;
    const requested = statusCode === 429 || statusCode === 503 ? retryAfter : undefined;
    return result({
      statusCode,
      error: statusCode === 200 ? '' : `status: ${statusCode}`,
      responseHeaders: headerPairs(response.headers),
      responseBody,
      // Uses the endpoint's clock (its Date header) if possible, because the clock of this machine may be wrong.
      retryAfterMs: parseRetryAfter(requested, Date.parse(String(response.headers.date)) || Date.now()),
    });
  } catch (error) {
    return result({ statusCode: 0, error: describe(error, watch.brokenBy()) });
  } finally {
    clearTimeout(timer);
  }
}

/** Splits a URL for undici. Throws for URLs that CreateWebhook and UpdateWebhook reject. */
function requestTarget(text: string): { origin: string; path: string } {
  if (!URL.canParse(text)) throw new BlockedAddressError('not a URL');
  const { origin, protocol, pathname, search, username, password } = new URL(text);
  if (protocol !== 'https:' && protocol !== 'http:') throw new BlockedAddressError(`${protocol} is not allowed`);
  if (username || password) throw new BlockedAddressError('the URL contains a user name or password');
  return { origin, path: pathname + search };
}

function headerPairs(headers: Record<string, string | string[] | undefined>): HeaderPair[] {
  return Object.entries(headers)
    .flatMap(([name, value]) => [value ?? []].flat().map((one): HeaderPair => [name, one.slice(0, headerLimit)]))
    .slice(0, headersKept);
}

/** Reads the whole response, so that the connection can be reused, and returns its start. */
async function readStart(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  let read = 0;
  for await (const chunk of body) {
    read += chunk.length;
    if (length < responseLimitBytes) {
      chunks.push(chunk.subarray(0, responseLimitBytes - length));
      length += chunk.length;
    }
    // Leaving the loop closes the connection, which is cheaper than reading on.
    if (read > responseLimitBytes * 16) break;
  }
  return Buffer.concat(chunks);
}

/** Error codes of Node's TLS module and of OpenSSL's certificate verification. */
const tlsCode =
  /^(?:ERR_TLS|ERR_SSL|EPROTO|CERT_|CRL_|DEPTH_|SELF_SIGNED|UNABLE_TO|ERROR_IN_C|INVALID_|PATH_LENGTH|HOSTNAME_)/;

/**
 * Returns an error class and a short text, which the delivery log shows.
 * @param cause the error that broke the connection. undici reports only that the connection ended. For example, an
 * endpoint that rejects our certificate sends its alert after the handshake and then closes.
 */
function describe(error: unknown, cause?: Error): string {
  const ended = (error as { code?: string }).code === 'UND_ERR_SOCKET';
  const { name, code = '', message } = ((ended && cause) || error) as { name: string; code?: string; message: string };
  if (name === 'AbortError') return 'timeout: no complete response within 10 s';
  if (code === 'BLOCKED_ADDRESS') return `blocked: ${message}`;
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return 'connect: timed out';
  if (code === 'PROXY') return `proxy: ${message}`;
  if (code === 'DNS_FAILED') return `dns: ${message}`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'dns: the name does not resolve';
  if (/^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH)$/.test(code)) return `connect: ${code}`;
  if (tlsCode.test(code)) return `tls: ${code}`;
  // For example status 101, which HTTP does not allow as a response to this request.
  if (code === 'ERR_ASSERTION') return 'connection: unexpected response';
  return `connection: ${code || message.slice(0, 200)}`;
}
