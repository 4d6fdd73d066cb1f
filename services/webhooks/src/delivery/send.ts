import type { Agent } from 'undici';
import { type AttemptResult, attemptTimeoutMs } from './job.ts';
import { parseRetryAfter } from './retry-policy.ts';
import { type SigningSecret, signatureHeaders } from './sign.ts';

/** One call to make. */
export interface Outgoing {
  readonly url: string;
  readonly eventId: string;
  readonly requestId: string;
  readonly traceparent: string;
  readonly body: Buffer;
}

const responseLimitBytes = 16 * 1024;
const userAgent = 'rms-webhooks/0.1';

/**
 * Makes one attempt: a signed POST whose whole answer, body included, has 10 seconds. Never rejects: whatever goes wrong
 * is the attempt's result. Only 200 is success; a redirect is an answer like any other.
 */
export async function send(agent: Agent, secret: SigningSecret, outgoing: Outgoing): Promise<AttemptResult> {
  const { url, eventId, requestId, traceparent, body } = outgoing;
  const startedAt = new Date();
  const startedAtMs = performance.now();
  const result = (statusCode: number, error: string, responseBody: Buffer, retryAfterMs?: number): AttemptResult => ({
    startedAt,
    statusCode,
    error,
    durationMs: Math.round(performance.now() - startedAtMs),
    responseBody,
    retryAfterMs,
  });
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), attemptTimeoutMs);
  try {
    const { origin, pathname, search } = new URL(url);
    const response = await agent.request({
      origin,
      path: pathname + search,
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'user-agent': userAgent,
        'x-request-id': requestId,
        ...signatureHeaders(secret, eventId, body, startedAt.getTime()),
        ...(traceparent ? { traceparent } : {}),
      },
      signal: abort.signal,
    });
    const responseBody = await readStart(response.body);
    const { statusCode, headers } = response;
    if (statusCode === 200) return result(200, '', responseBody);
    const retryAfter = headers['retry-after'];
    const asked = statusCode === 429 || statusCode === 503 ? String(retryAfter ?? '') || undefined : undefined;
    return result(statusCode, `status: ${statusCode}`, responseBody, parseRetryAfter(asked, Date.now()));
  } catch (error) {
    return result(0, describe(error), Buffer.alloc(0));
  } finally {
    clearTimeout(timer);
  }
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

/** A short class and text, which the delivery log shows. */
function describe(error: unknown): string {
  const { name, code = '', message } = error as { name: string; code?: string; message: string };
  if (name === 'AbortError') return 'timeout: no complete answer within 10 s';
  if (code === 'BLOCKED_ADDRESS') return `blocked: ${message}`;
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'connect: timed out';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'dns: the name does not resolve';
  if (/^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)$/.test(code)) return `connect: ${code}`;
  if (/^(?:ERR_TLS|ERR_SSL|CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO|EPROTO)/.test(code)) return `tls: ${code}`;
  return `connection: ${code || message.slice(0, 200)}`;
}
