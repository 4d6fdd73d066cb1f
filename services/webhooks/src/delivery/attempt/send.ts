import { type DeliveryContent, deliveryHeaders, type SigningSecrets } from '@rms/signature';
import { notConnected, rounded, type Watch, watchRequest } from '../../egress/connection-times.ts';
import { BlockedAddressError } from '../../egress/guard.ts';
import type { OriginPools } from '../../egress/origin-pools.ts';
import type { AttemptResult, HeaderPair } from '../../log/attempt.ts';
import { parseRetryAfter } from '../../subscription/retry-policy.ts';
import { Exchange } from './exchange.ts';
import { attemptTimeoutMs } from './job.ts';

/** An HTTP call to make. */
export interface Outgoing extends DeliveryContent {
  readonly url: string;
}

/** The log keeps at most this many response headers, each truncated to `headerLimit` characters. */
const headersKept = 64;
const headerLimit = 1_024;

/** The reason of the end of an attempt that took too long. */
class DeadlineError extends Error {
  readonly code = 'DEADLINE';
}

/**
 * Makes one attempt: a signed POST. The whole response, including the body, must arrive within 10 seconds. Never
 * rejects: every error becomes the result of the attempt. Only status 200 is a success; redirects are not followed.
 *
 * An endpoint may close an idle connection in the moment in which a request is sent over it. Such a request gets no byte
 * of a response, and is repeated once over a new connection, as a part of the same attempt.
 */
export async function send(agent: OriginPools, secrets: SigningSecrets, outgoing: Outgoing): Promise<AttemptResult> {
  const { url, body } = outgoing;
  const startedAt = new Date();
  const startedAtMs = performance.now();
  const headers = deliveryHeaders(secrets, outgoing, startedAt.getTime());
  let exchange = new Exchange();
  const timer = setTimeout(() => exchange.abort(new DeadlineError()), attemptTimeoutMs);
  let watch: Watch | undefined;
  try {
    const request = { ...requestTarget(url), method: 'POST', body, headers } as const;
    watch = watchRequest(() => agent.dispatch(request, exchange));
    await exchange.ended;
    if (isUnanswered(exchange, watch)) {
      exchange = new Exchange();
      watch = watchRequest(() => agent.dispatchAlone(request, exchange));
      await exchange.ended;
    }
  } catch (error) {
    exchange.abort(error as Error);
  } finally {
    clearTimeout(timer);
  }
  const { statusCode, error, firstByteAtMs } = exchange;
  const responseHeaders = headerPairs(exchange.rawHeaders);
  const base = {
    startedAt,
    durationMs: Math.round(performance.now() - startedAtMs),
    timings: {
      ...(watch?.times ?? notConnected),
      firstByte: firstByteAtMs === undefined ? undefined : rounded(firstByteAtMs - (watch?.sentAtMs ?? startedAtMs)),
    },
    address: watch?.address,
    requestHeaders: Object.entries(headers),
  };
  if (error) {
    return {
      ...base,
      statusCode: 0,
      error: describe(error, watch?.brokenBy()),
      responseHeaders: [],
      responseBody: Buffer.alloc(0),
      retryAfterMs: undefined,
    };
  }
  const fieldOf = (name: string) => responseHeaders.find(([key]) => key === name)?.[1];
  const requested = statusCode === 429 || statusCode === 503 ? fieldOf('retry-after') : undefined;
  return {
    ...base,
    statusCode,
    error: statusCode === 200 ? '' : `status: ${statusCode}`,
    responseHeaders,
    responseBody: exchange.body,
    // Uses the endpoint's clock (its Date header) if possible, because the clock of this machine may be wrong.
    retryAfterMs: parseRetryAfter(requested, Date.parse(fieldOf('date') ?? '') || Date.now()),
  };
}

/** Whether a connection that was open before ended without a byte of the response. */
function isUnanswered({ error }: Exchange, watch: Watch): boolean {
  return error !== undefined && !(error instanceof DeadlineError) && watch.isReused && !watch.hasResponse();
}

/** Splits a URL for undici. Throws for URLs that CreateWebhook and UpdateWebhook reject. */
function requestTarget(text: string): { origin: string; path: string } {
  if (!URL.canParse(text)) throw new BlockedAddressError('not a URL');
  const { origin, protocol, pathname, search, username, password } = new URL(text);
  if (protocol !== 'https:' && protocol !== 'http:') throw new BlockedAddressError(`${protocol} is not allowed`);
  if (username || password) throw new BlockedAddressError('the URL contains a user name or password');
  return { origin, path: pathname + search };
}

function headerPairs(raw: readonly Buffer[]): HeaderPair[] {
  const pairs: HeaderPair[] = [];
  for (let i = 0; i < raw.length && pairs.length < headersKept; i += 2) {
    const [name, value] = [raw[i] as Buffer, raw[i + 1] as Buffer];
    pairs.push([name.toString('latin1').toLowerCase(), value.toString('utf8').slice(0, headerLimit)]);
  }
  return pairs;
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
  const { code = '', message } = ((ended && cause) || error) as { code?: string; message: string };
  if (code === 'DEADLINE') return 'timeout: no complete response within 10 s';
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
