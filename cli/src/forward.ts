import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { withDeadline } from '@rms/async';
import { deliveryHeaders, type SigningSecrets, statusError } from '@rms/base/signature';
import { createHttpConnections } from '@rms/net/dial';

/** Event to forward. */
export interface Outgoing {
  readonly eventId: string;
  readonly requestId: string;
  readonly body: Uint8Array;
}

/** Result of forwarding an event. */
export interface Response {
  /** Undefined if there was no response. */
  readonly statusCode: number | undefined;
  /** Error class, ": " and a text, as in the delivery log. Undefined if the endpoint accepted the event. */
  readonly error: string | undefined;
  readonly durationMs: number;
}

/** Time limit for the complete response, as in deliveries. */
const timeoutMs = 10_000;
/** Limit for reading a response body. Beyond it, the client closes the connection, and the status code counts. */
const responseLimitBytes = 256 * 1024;

/**
 * Posts an event as a delivery does: same body and headers, only status 200 is success, and redirects are not followed.
 * Each request uses a new connection, because a server under development restarts often. Rejects only if the signal
 * aborts.
 */
export async function forward(
  url: URL,
  secrets: SigningSecrets,
  { eventId, requestId, body }: Outgoing,
  signal: AbortSignal,
): Promise<Response> {
  const startedAtMs = performance.now();
  const durationMs = () => Math.round(performance.now() - startedAtMs);
  const headers = deliveryHeaders(secrets, { eventId, requestId, traceparent: '', body }, Date.now());
  const deadline = withDeadline(signal, timeoutMs, 'the request');
  try {
    const statusCode = await post(url, headers, body, deadline.signal);
    return { statusCode, error: statusError(statusCode) || undefined, durationMs: durationMs() };
  } catch (error) {
    signal.throwIfAborted();
    const what = deadline.signal.aborted ? 'timeout: no complete response within 10 s' : describe(error);
    return { statusCode: undefined, error: what, durationMs: durationMs() };
  } finally {
    deadline.end();
  }
}

function post(url: URL, headers: Readonly<Record<string, string>>, body: Uint8Array, signal: AbortSignal) {
  return new Promise<number>((resolve, reject) => {
    const isTls = url.protocol === 'https:';
    const request = isTls ? requestHttps : requestHttp;
    const createConnection = createHttpConnections({ isTls, timeoutMs });
    const defaultPort = isTls ? 443 : 80;
    const call = request(url, { method: 'POST', headers, signal, defaultPort, createConnection }, (response) => {
      const { statusCode = 0 } = response;
      let read = 0;
      response.on('data', (chunk: Buffer) => {
        read += chunk.length;
        if (read <= responseLimitBytes) return;
        resolve(statusCode);
        call.destroy();
      });
      response.on('end', () => resolve(statusCode));
      response.on('error', reject);
    });
    call.on('error', reject);
    call.end(body);
  });
}

function describe(error: unknown): string {
  const { code = '', message } = error as { code?: string; message: string };
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'dns: the name does not resolve';
  if (code === 'ECONNREFUSED') return 'connect: connection refused';
  if (/^(?:EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)$/.test(code)) return `connect: ${code}`;
  if (/^(?:ERR_TLS|ERR_SSL|CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO|EPROTO)/.test(code)) return `tls: ${code}`;
  return `connection: ${code || message}`;
}
