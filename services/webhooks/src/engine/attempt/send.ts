import { type DeliveryContent, deliveryHeaders, statusError } from '@rms/base/signature';
import { type OriginPools, post, singleValue } from '@rms/net/guarded-http';
import type { Endpoint } from '../../webhook/endpoint-queries.ts';
import { parseHttpDate } from '../../webhook/http-date.ts';
import { parseRetryAfter } from '../../webhook/retry-policy.ts';
import type { AttemptResult } from './attempt.ts';
import type { OpenedSecrets } from './secret-cache.ts';

/** An HTTP call to make. */
export interface Outgoing extends DeliveryContent {
  readonly workspaceId: string;
  readonly endpoint: Pick<Endpoint, 'url' | 'headers' | 'timeoutMs' | 'signatureAlias'>;
}

/** Shown in the log instead of a secret value. */
const hiddenValue = '(secret)';

/**
 * Makes one attempt: a signed POST with the custom headers, as {@link post} sends it. Every error becomes the attempt's
 * result. Only status 200 is a success.
 */
export async function send(agent: OriginPools, secrets: OpenedSecrets, outgoing: Outgoing): Promise<AttemptResult> {
  const { workspaceId, endpoint, body } = outgoing;
  const { url, timeoutMs, signatureAlias } = endpoint;
  const startedAt = new Date();
  const own = deliveryHeaders(secrets, outgoing, startedAt.getTime());
  const alias = signatureAlias === undefined ? {} : { [signatureAlias]: own['x-service-signature'] };
  const shown = { ...own, ...alias, ...endpoint.headers };
  const result = await post(agent, { workspaceId, url, headers: { ...shown, ...secrets.headers }, body, timeoutMs });
  const { statusCode, responseHeaders } = result;
  const requested = statusCode === 429 || statusCode === 503 ? singleValue(responseHeaders, 'retry-after') : undefined;
  // Uses the endpoint's clock (its Date header) if possible, because the clock of this machine may be wrong.
  const nowMs = parseHttpDate(singleValue(responseHeaders, 'date') ?? '', Date.now()) ?? Date.now();
  return {
    ...result,
    startedAt,
    requestHeaders: [
      ...Object.entries(shown),
      ...Object.keys(secrets.headers).map((name) => [name, hiddenValue] as const),
    ],
    error: result.error ?? statusError(statusCode),
    retryAfterMs: parseRetryAfter(requested, nowMs),
  };
}
