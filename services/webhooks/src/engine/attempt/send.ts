import { type DeliveryContent, deliveryHeaders, type SigningSecrets, statusError } from '@rms/base/signature';
import { type OriginPools, post, singleValue } from '@rms/net/guarded-http';
import { parseHttpDate } from '../../webhook/http-date.ts';
import { parseRetryAfter } from '../../webhook/retry-policy.ts';
import type { AttemptResult } from './attempt.ts';

/** An HTTP call to make. */
export interface Outgoing extends DeliveryContent {
  readonly workspaceId: string;
  readonly url: string;
}

/**
 * Makes one attempt: a signed POST, as {@link post} sends it. Every error becomes the result of the attempt. Only status
 * 200 is a success.
 */
export async function send(agent: OriginPools, secrets: SigningSecrets, outgoing: Outgoing): Promise<AttemptResult> {
  const { workspaceId, url, body } = outgoing;
  const startedAt = new Date();
  const headers = deliveryHeaders(secrets, outgoing, startedAt.getTime());
  const result = await post(agent, { workspaceId, url, headers, body });
  const { statusCode, responseHeaders } = result;
  const requested = statusCode === 429 || statusCode === 503 ? singleValue(responseHeaders, 'retry-after') : undefined;
  // Uses the endpoint's clock (its Date header) if possible, because the clock of this machine may be wrong.
  const nowMs = parseHttpDate(singleValue(responseHeaders, 'date') ?? '', Date.now()) ?? Date.now();
  return {
    ...result,
    startedAt,
    requestHeaders: Object.entries(headers),
    error: result.error ?? statusError(statusCode),
    retryAfterMs: parseRetryAfter(requested, nowMs),
  };
}
