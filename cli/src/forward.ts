import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { deliveryHeaders, type SigningSecrets } from '@rms/signature';

/** What is sent. */
export interface Outgoing {
  readonly eventId: string;
  readonly requestId: string;
  readonly body: Uint8Array;
}

/** What came of it. */
export interface Answer {
  /** Undefined: there was none. */
  readonly statusCode: number | undefined;
  /** A class, ": " and a text, as in the delivery log; undefined if the event has arrived. */
  readonly error: string | undefined;
  readonly durationMs: number;
}

/** Specification, "Delivery": the whole answer has 10 seconds. */
const timeoutMs = 10_000;
/** Past this the rest of an answer is not read. */
const answerLimitBytes = 256 * 1024;

/**
 * Posts an event as a delivery is posted: its body, its headers, only 200 is success, redirects are not followed. Each has a
 * connection of its own: what is being developed comes and goes. Rejects only if the signal aborts.
 */
export async function forward(
  url: URL,
  secrets: SigningSecrets,
  { eventId, requestId, body }: Outgoing,
  signal: AbortSignal,
): Promise<Answer> {
  const startedAtMs = performance.now();
  const durationMs = () => Math.round(performance.now() - startedAtMs);
  const headers = deliveryHeaders(secrets, { eventId, requestId, traceparent: '', body }, Date.now());
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const statusCode = await post(url, headers, body, AbortSignal.any([signal, timeout]));
    return { statusCode, error: statusCode === 200 ? undefined : `status: ${statusCode}`, durationMs: durationMs() };
  } catch (error) {
    signal.throwIfAborted();
    const what = timeout.aborted ? 'timeout: no complete answer within 10 s' : describe(error);
    return { statusCode: undefined, error: what, durationMs: durationMs() };
  }
}

function post(url: URL, headers: Readonly<Record<string, string>>, body: Uint8Array, signal: AbortSignal) {
  return new Promise<number>((resolve, reject) => {
    const request = url.protocol === 'https:' ? requestHttps : requestHttp;
    const call = request(url, { method: 'POST', headers, signal, agent: false }, (answer) => {
      const { statusCode = 0 } = answer;
      let read = 0;
      answer.on('data', (chunk: Buffer) => {
        read += chunk.length;
        if (read <= answerLimitBytes) return;
        resolve(statusCode);
        call.destroy();
      });
      answer.on('end', () => resolve(statusCode));
      answer.on('error', reject);
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
