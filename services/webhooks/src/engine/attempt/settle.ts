import type { EndReason } from '@rms/base/webhook-events';
import { nextDelayMs } from '../../webhook/retry-policy.ts';
import type { Outcome } from '../schedule/endpoint.ts';
import type { AttemptResult } from './attempt.ts';
import type { DeliveryJob } from './job.ts';

/** The consequences of an attempt. */
export interface Settlement {
  readonly status: 'pending' | 'delivered' | 'failed';
  /** Delay until the next attempt; undefined without a next attempt. */
  readonly dueInMs: number | undefined;
  /** Set if the delivery has failed. */
  readonly endReason?: Extract<EndReason, 'retries_exhausted' | 'endpoint_gone'>;
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
