import { abortableDelay } from '@rms/async';
import { type DeliveryContent, deliveryHeaders, statusError } from '@rms/base/signature';
import { type HeaderPair, NoConnectionError, type OriginPools, post, singleValue } from '@rms/net/guarded-http';
import { nextDelayMs, parseHttpDate, parseRetryAfter } from '../webhook/retry-policy.ts';
import type { Endpoint } from '../webhook/webhook-queries.ts';
import type { AttemptReporter } from './attempt/attempt-reporter.ts';
import { traceAttempt } from './attempt/attempt-span.ts';
import type { EndpointAgents } from './attempt/endpoint-agents.ts';
import type { AttemptResult, DeliveryJob, Settlement } from './attempt/job.ts';
import type { OpenedSecrets, Signers } from './attempt/signers.ts';
import type { EndpointHealth } from './record/endpoint-health.ts';
import type { Recorder } from './record/recorder.ts';
import type { Outcome } from './schedule/endpoint.ts';
import { limits } from './schedule/limits.ts';

export interface AttemptParts {
  readonly agents: EndpointAgents;
  readonly signers: Signers;
  readonly recorder: Recorder;
  readonly health: EndpointHealth;
  readonly report: AttemptReporter;
  /** The state of the endpoints at this instance. */
  readonly endpoints: {
    /** Whether the last attempt at a webhook was slow or failed. */
    isFailing(webhookId: string): boolean;
    /** Whether a webhook's circuit is open. */
    isOpen(webhookId: string): boolean;
  };
  /** Releases a lease. */
  release(job: DeliveryJob): Promise<void>;
}

/** The outcome of an attempt, and the time until the delivery's next attempt; undefined without a next attempt. */
export interface Attempted extends Outcome {
  readonly dueInMs?: number | undefined;
}

const notAttempted: Attempted = { durationMs: 0, health: 'not attempted' };

/**
 * Makes an attempt at a leased delivery: signs, sends, and determines the next state. Returns after the result is
 * recorded. A delivery that cannot be attempted here is released. Rejects if the result cannot be recorded; the delivery
 * is then attempted again when its lease expires.
 */
export async function attemptDelivery(job: DeliveryJob, parts: AttemptParts, signal: AbortSignal): Promise<Attempted> {
  const { agents, signers, recorder, health, report, endpoints, release } = parts;
  // A result that cannot be recorded would cause another attempt.
  if (recorder.behind()) await recorder.caughtUp();

  // The lease could expire during the attempt.
  if (performance.now() - job.leasedAtMs > limits.startWithinMs) {
    report.released('late');
    await release(job);
    return notAttempted;
  }

  // If no key decrypts the secret, this instance skips the webhook for a while. Another instance may have the key.
  const secrets = signers.signerOf(job);
  if (!secrets) {
    report.released('secret');
    await release(job);
    return notAttempted;
  }

  const wasFailing = endpoints.isFailing(job.webhookId);
  const agent = agents.of(job, job.endpoint);
  let result: AttemptResult;
  try {
    result = await traceAttempt(job, ({ traceparent, tracestate }) =>
      send(agent, secrets, { ...job, traceparent, tracestate }),
    );
  } catch (error) {
    if (!(error instanceof NoConnectionError)) throw error;
    report.unconnected(error);
    // The delivery keeps its slot.
    await abortableDelay(limits.noConnectionMs, signal);
    await release(job);
    return notAttempted;
  }

  const settlement = settle(job, result);
  report.attempted(job, result, settlement, wasFailing);
  await recorder.record({ job, result, settlement });
  await health.note(job, settlement, endpoints.isOpen(job.webhookId));
  return { durationMs: result.durationMs, health: healthOf(result), dueInMs: settlement.dueInMs };
}

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
  return {
    ...result,
    startedAt,
    requestHeaders: [
      ...Object.entries(shown),
      ...Object.keys(secrets.headers).map((name) => [name, hiddenValue] as const),
    ],
    error: result.error ?? statusError(statusCode),
    retryAfterMs: statusCode === 429 || statusCode === 503 ? requestedDelayMs(responseHeaders) : undefined,
  };
}

/**
 * Returns the delay of Retry-After; undefined without one. Uses the endpoint's clock (its Date header) if possible,
 * because the clock of this machine may be wrong.
 */
function requestedDelayMs(headers: readonly HeaderPair[]): number | undefined {
  const nowMs = parseHttpDate(singleValue(headers, 'date') ?? '', Date.now()) ?? Date.now();
  return parseRetryAfter(singleValue(headers, 'retry-after'), nowMs);
}

/**
 * Determines the next state of a delivery.
 *
 *   pending ──200──► delivered            (a response counts only if it is complete)
 *      │  ▲
 *      │  └── another response or none, retries remaining (after a delay)
 *      ├───── another response or none, no retries remaining ──► failed
 *      └───── 410 ──► failed, and the webhook is disabled
 */
export function settle(job: DeliveryJob, result: AttemptResult): Settlement {
  if (result.error === '') return { status: 'delivered', dueInMs: undefined };
  if (result.statusCode === 410 && isComplete(result))
    return { status: 'failed', dueInMs: undefined, endReason: 'endpoint_gone' };
  const dueInMs = nextDelayMs(job.endpoint.retryPolicy, job.tries + 1, result.retryAfterMs);
  if (dueInMs === undefined) return { status: 'failed', dueInMs, endReason: 'retries_exhausted' };
  return { status: 'pending', dueInMs };
}

/** Judges the endpoint's health. No complete response, 429 and 5xx mean that it is failing. */
export function healthOf(result: AttemptResult): Outcome['health'] {
  const { error, statusCode } = result;
  if (error === '') return 'arrived';
  return !isComplete(result) || statusCode === 429 || statusCode >= 500 ? 'failing' : 'rejected';
}

/** Whether the whole response arrived. Otherwise, its status is only part of the record. */
function isComplete({ error }: AttemptResult): boolean {
  return error === '' || error.startsWith('status: ');
}
