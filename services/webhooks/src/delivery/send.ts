import { EventEmitter } from 'node:events';
import { type DeliveryContent, deliveryHeaders, type SigningSecrets } from '@rms/signature';
import { BlockedAddressError } from '../egress/guard.ts';
import type { OriginPools } from '../egress/origin-pools.ts';
import { rounded, watchRequest } from './connection-times.ts';
import { type AttemptResult, attemptTimeoutMs, type HeaderPair } from './job.ts';
import { parseRetryAfter } from './retry-policy.ts';

/** One call to make. */
export interface Outgoing extends DeliveryContent {
  readonly url: string;
}

const responseLimitBytes = 16 * 1024;
/** Each costs its parsing; without an end of them the processor would do nothing else. */
const hintsLimit = 16;
/** Of an answer's headers the log keeps so many, each so long at most. */
const headersKept = 64;
const headerLimit = 1_024;

/** What undici takes beside an AbortSignal, of which Node 20 keeps what it holds until a major collection. */
class Abortable extends EventEmitter {
  reason: Error | undefined;

  abort(reason?: Error): void {
    this.reason = reason;
    this.emit('abort');
  }
}

/**
 * Makes one attempt: a signed POST whose whole answer, body included, has 10 seconds. Never rejects: whatever goes wrong
 * is the attempt's result. Only 200 is success; a redirect is an answer like any other.
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
    if (hints > hintsLimit) attempt.abort(new Error(`more than ${hintsLimit} answers of 1xx`));
  };
  const { watch, begun } = watchRequest(async () =>
    agent.request({ ...requestTarget(url), method: 'POST', body, headers, signal: attempt, onInfo }),
  );
  let firstByteMs: number | undefined;
  const result = (answer: Pick<AttemptResult, 'statusCode' | 'error'> & Partial<AttemptResult>): AttemptResult => ({
    startedAt,
    durationMs: Math.round(performance.now() - startedAtMs),
    timings: { ...watch.times, firstByte: firstByteMs },
    address: watch.address,
    requestHeaders: Object.entries(headers),
    responseHeaders: [],
    responseBody: Buffer.alloc(0),
    retryAfterMs: undefined,
    ...answer,
  });
  try {
    const response = await begun;
    firstByteMs = rounded(performance.now() - (watch.sentAtMs ?? startedAtMs));
    const { statusCode } = response;
    const responseBody = await readStart(response.body);
    const retryAfter = String(response.headers['retry-after'] ?? '') || undefined;
    const asked = statusCode === 429 || statusCode === 503 ? retryAfter : undefined;
    return result({
      statusCode,
      error: statusCode === 200 ? '' : `status: ${statusCode}`,
      responseHeaders: headerPairs(response.headers),
      responseBody,
      retryAfterMs: parseRetryAfter(asked, Date.now()),
    });
  } catch (error) {
    return result({ statusCode: 0, error: describe(error, watch.brokenBy()) });
  } finally {
    clearTimeout(timer);
  }
}

/** What undici takes of a URL. Throws for what only a URL that was never checked can be. */
function requestTarget(text: string): { origin: string; path: string } {
  if (!URL.canParse(text)) throw new BlockedAddressError('not a URL');
  const { origin, protocol, pathname, search, username, password } = new URL(text);
  if (protocol !== 'https:' && protocol !== 'http:') throw new BlockedAddressError(`${protocol} is not allowed`);
  if (username || password) throw new BlockedAddressError('the URL holds a user name or password');
  return { origin, path: pathname + search };
}

function headerPairs(headers: Record<string, string | string[] | undefined>): HeaderPair[] {
  return Object.entries(headers)
    .flatMap(([name, value]) => [value ?? []].flat().map((one): HeaderPair => [name, one.slice(0, headerLimit)]))
    .slice(0, headersKept);
}

/** Reads the whole answer, so that the connection can be used again, and keeps its start. */
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
    // Leaving the loop closes the connection: cheaper than reading on.
    if (read > responseLimitBytes * 16) break;
  }
  return Buffer.concat(chunks);
}

/** Of Node, and of OpenSSL's verdicts on certificates. */
const tlsCode =
  /^(?:ERR_TLS|ERR_SSL|EPROTO|CERT_|CRL_|DEPTH_|SELF_SIGNED|UNABLE_TO|ERROR_IN_C|INVALID_|PATH_LENGTH|HOSTNAME_)/;

/**
 * A short class and text, which the delivery log shows.
 * @param cause a connection that ends in the middle is all that the error tells: an endpoint that wants no certificate of
 * ours says so once it is made, and ends it
 */
function describe(error: unknown, cause?: Error): string {
  const ended = (error as { code?: string }).code === 'UND_ERR_SOCKET';
  const { name, code = '', message } = ((ended && cause) || error) as { name: string; code?: string; message: string };
  if (name === 'AbortError') return 'timeout: no complete answer within 10 s';
  if (code === 'BLOCKED_ADDRESS') return `blocked: ${message}`;
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return 'connect: timed out';
  if (code === 'PROXY') return `proxy: ${message}`;
  if (code === 'DNS_FAILED') return `dns: ${message}`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'dns: the name does not resolve';
  if (/^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH)$/.test(code)) return `connect: ${code}`;
  if (tlsCode.test(code)) return `tls: ${code}`;
  // An answer that HTTP does not allow to that request, such as 101.
  if (code === 'ERR_ASSERTION') return 'connection: an answer out of turn';
  return `connection: ${code || message.slice(0, 200)}`;
}
