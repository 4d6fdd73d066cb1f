import type { Outcome } from './endpoint-queue.ts';
import type { AttemptResult, DeliveryJob } from './job.ts';
import { nextDelayMs } from './retry-policy.ts';

/** What follows from an attempt. */
export interface Settlement {
  readonly status: 'pending' | 'delivered' | 'failed';
  /** When to try again, from now; undefined: not at all. */
  readonly dueInMs: number | undefined;
  /** The endpoint said that it is gone for good. */
  readonly gone: boolean;
}

/**
 *   pending ──200──────────────────────────► delivered
 *      │  ▲
 *      │  └─── any other answer or none, retries left (after a delay)
 *      ├────── any other answer or none, no retries left ──► failed
 *      └────── 410 ──► failed, and the webhook is disabled
 */
export function settle(job: DeliveryJob, result: AttemptResult): Settlement {
  if (result.statusCode === 200) return { status: 'delivered', dueInMs: undefined, gone: false };
  if (result.statusCode === 410) return { status: 'failed', dueInMs: undefined, gone: true };
  const dueInMs = nextDelayMs(job.endpoint.retryPolicy, job.tries + 1, result.retryAfterMs);
  return { status: dueInMs === undefined ? 'failed' : 'pending', dueInMs, gone: false };
}

/** Whether the endpoint can take anything: no answer, 429 and 5xx say that it cannot. */
export function healthOf({ statusCode }: AttemptResult): Outcome['health'] {
  if (statusCode === 200) return 'arrived';
  return statusCode === 0 || statusCode === 429 || statusCode >= 500 ? 'failing' : 'refused';
}
