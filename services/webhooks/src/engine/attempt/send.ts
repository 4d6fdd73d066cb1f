import { type DeliveryContent, deliveryHeaders, type SigningSecrets, statusError } from '@rms/base/signature';
import { BlockedAddressError } from '@rms/net/egress';
import {
  ConnectError,
  headLimitBytes,
  notConnected,
  rounded,
  type Watch,
  watchRequest,
} from '../../egress/connection-times.ts';
import type { OriginPools } from '../../egress/origin-pools.ts';
import { parseHttpDate } from '../../webhook/http-date.ts';
import { parseRetryAfter } from '../../webhook/retry-policy.ts';
import type { AttemptResult } from './attempt.ts';
import { Exchange } from './exchange.ts';
import { attemptTimeoutMs } from './job.ts';
import { headerPairs, parsePartial, singleValue } from './response-head.ts';

/** An HTTP call to make. */
export interface Outgoing extends DeliveryContent {
  readonly workspaceId: string;
  readonly url: string;
}

/**
 * Thrown instead of an attempt: this process or its machine has no file descriptor, buffer or memory for another
 * connection, which is not the endpoint's fault. Nothing was sent.
 */
export class NoConnectionError extends Error {
  override readonly name = 'NoConnectionError';
}

const ownFaults = ['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'];

/** End reason of an attempt that took too long. */
class DeadlineError extends Error {
  readonly code = 'DEADLINE';
}

/**
 * Makes one attempt: a signed POST. The whole response, including the body, must arrive within 10 seconds. Every error
 * becomes the attempt's result, next to everything that arrived of the response; rejects only with a
 * {@link NoConnectionError}. Only status 200 is a success; redirects are not followed.
 *
 * An endpoint may close an idle connection at the moment when a request is sent over it. Such a request gets no byte
 * of a response, or a 408 that closes the connection, and is repeated once over a new connection, as part of the same
 * attempt.
 */
export async function send(agent: OriginPools, secrets: SigningSecrets, outgoing: Outgoing): Promise<AttemptResult> {
  const { workspaceId, url, body } = outgoing;
  const startedAt = new Date();
  const startedAtMs = performance.now();
  const headers = deliveryHeaders(secrets, outgoing, startedAt.getTime());
  let exchange = new Exchange();
  const timer = setTimeout(() => exchange.abort(new DeadlineError()), attemptTimeoutMs);
  let watch: Watch | undefined;
  try {
    const request = { ...requestTarget(url), method: 'POST', body, headers } as const;
    watch = watchRequest(() => agent.dispatch(workspaceId, request, exchange));
    await exchange.ended;
    if (isUnread(exchange, watch)) {
      exchange = new Exchange();
      watch = watchRequest(() => agent.dispatchAlone(request, exchange));
      await exchange.ended;
    }
  } catch (error) {
    exchange.abort(error as Error);
  } finally {
    clearTimeout(timer);
  }
  const { error, firstByteAtMs } = exchange;
  if (error instanceof ConnectError && ownFaults.includes(error.code)) {
    throw new NoConnectionError(error.message, { cause: error });
  }
  const { statusCode, responseHeaders, responseBody } = responseOf(exchange, watch);
  const sentAtMs = watch?.sentAtMs ?? startedAtMs;
  const requested = statusCode === 429 || statusCode === 503 ? singleValue(responseHeaders, 'retry-after') : undefined;
  // Uses the endpoint's clock (its Date header) if possible, because the clock of this machine may be wrong.
  const nowMs = parseHttpDate(singleValue(responseHeaders, 'date') ?? '', Date.now()) ?? Date.now();
  return {
    startedAt,
    durationMs: Math.round(performance.now() - startedAtMs),
    timings: {
      ...(error instanceof ConnectError ? error.times : (watch?.times ?? notConnected)),
      firstByte: firstByteAtMs === undefined ? undefined : rounded(firstByteAtMs - sentAtMs),
    },
    address: watch?.address,
    requestHeaders: Object.entries(headers),
    statusCode,
    error: error ? describe(error, watch?.brokenBy(), performance.now() - sentAtMs) : statusError(statusCode),
    responseHeaders,
    responseBody,
    retryAfterMs: parseRetryAfter(requested, nowMs),
  };
}

/** Returns everything that arrived of the response. */
function responseOf(exchange: Exchange, watch: Watch | undefined) {
  const received = watch?.takeReceived() ?? [];
  if (exchange.statusCode !== 0 || received.length === 0) {
    const { statusCode, rawHeaders, body } = exchange;
    return { statusCode, responseHeaders: headerPairs(rawHeaders), responseBody: body };
  }
  const { statusCode, headers, rest } = parsePartial(Buffer.concat(received).subarray(0, headLimitBytes));
  return { statusCode, responseHeaders: headers, responseBody: rest };
}

/**
 * Whether the endpoint closed a connection that was open before, instead of reading the request: without a byte of a
 * response, or with a 408 and `Connection: close`, which some servers send to end an idle connection (RFC 9110,
 * 15.5.9).
 */
function isUnread({ error, statusCode, rawHeaders }: Exchange, watch: Watch): boolean {
  if (!watch.isReused || error instanceof DeadlineError) return false;
  if (statusCode === 408) return singleValue(headerPairs(rawHeaders), 'connection')?.toLowerCase() === 'close';
  return error !== undefined && !watch.hasResponse();
}

/** Splits a URL for undici. Throws for URLs that CreateWebhook and UpdateWebhook reject. */
function requestTarget(text: string): { origin: string; path: string } {
  if (!URL.canParse(text)) throw new BlockedAddressError('not a URL');
  const { host, protocol, pathname, search, username, password } = new URL(text);
  if (protocol !== 'https:' && protocol !== 'http:') throw new BlockedAddressError(`${protocol} is not allowed`);
  if (username || password) throw new BlockedAddressError('the URL contains a user name or password');
  // The origin's host is also the Host header. Without the final dot, it is the name in certificates.
  return { origin: `${protocol}//${host.replace(/\.(?=:\d+$|$)/, '')}`, path: pathname + search };
}

/** Error codes of Node's TLS module and of OpenSSL's certificate verification. */
const tlsCode =
  /^(?:ERR_TLS|ERR_SSL|EPROTO|CERT_|CRL_|DEPTH_|SELF_SIGNED|UNABLE_TO|ERROR_IN_C|INVALID_|PATH_LENGTH|HOSTNAME_)/;

/**
 * Returns an error class and a short text, which the delivery log shows. The text identifies the step that failed and
 * its duration.
 * @param cause the error that broke the connection. undici reports only that the connection ended. For example, an
 * endpoint that rejects our certificate sends its alert after the handshake and then closes.
 * @param responseMs time since the request was sent
 */
function describe(error: NodeJS.ErrnoException, cause: Error | undefined, responseMs: number): string {
  if (error instanceof ConnectError) return describeConnect(error);
  const { code = '', message }: NodeJS.ErrnoException = (error.code === 'UND_ERR_SOCKET' && cause) || error;
  if (code === 'BLOCKED_ADDRESS') return `blocked: ${message}`;
  const waited = `response: ${durationText(responseMs)}`;
  if (code === 'DEADLINE') return `timeout: no complete response within 10 s (${waited})`;
  if (tlsCode.test(code)) return `tls: ${code} (${waited})`;
  // For example status 101, which HTTP does not allow as a response to this request.
  if (code === 'ERR_ASSERTION') return `connection: unexpected response (${waited})`;
  return `connection: ${code || message.slice(0, 200)} (${waited})`;
}

/** Describes why there is no connection. The error class is the step that failed. */
function describeConnect({ code, message, phase, times }: ConnectError): string {
  if (code === 'BLOCKED_ADDRESS') return `blocked: ${message}`;
  const after = `after ${durationText(times[phase])}`;
  if (code === 'PROXY') return `proxy: ${message}`;
  if (code === 'DNS_FAILED') return `dns: ${message} ${after}`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `dns: the name does not resolve (${durationText(times[phase])})`;
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return `${phase}: timed out ${after}`;
  return `${phase}: ${code || message.slice(0, 200)} ${after}`;
}

function durationText(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
