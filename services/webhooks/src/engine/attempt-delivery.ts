import { abortableDelay } from '@rms/async';
import { NoConnectionError } from '@rms/net/guarded-http';
import type { AttemptResult } from './attempt/attempt.ts';
import type { AttemptReporter } from './attempt/attempt-reporter.ts';
import { traceAttempt } from './attempt/attempt-span.ts';
import type { EndpointAgents } from './attempt/endpoint-agents.ts';
import { type DeliveryJob, startWithinMs } from './attempt/job.ts';
import { send } from './attempt/send.ts';
import { healthOf, settle } from './attempt/settle.ts';
import type { Signers } from './attempt/signers.ts';
import type { EndpointHealth } from './endpoint-health.ts';
import type { Recorder } from './record/recorder.ts';
import type { Outcome } from './schedule/endpoint.ts';
import { limits } from './schedule/limits.ts';

export interface AttemptParts {
  readonly agents: EndpointAgents;
  readonly signers: Signers;
  readonly recorder: Recorder;
  readonly health: EndpointHealth;
  readonly report: AttemptReporter;
  /** Releases a lease. */
  release(job: DeliveryJob): Promise<void>;
  /** Whether the last attempt at a webhook was slow or failed. */
  isFailing(webhookId: string): boolean;
  /** Whether a webhook's circuit is open. */
  isOpen(webhookId: string): boolean;
}

/** The outcome of an attempt, and the time until the delivery's next attempt; undefined without a next attempt. */
export interface Attempted extends Outcome {
  readonly dueInMs?: number | undefined;
}

const notAttempted: Attempted = { durationMs: 0, health: 'not attempted' };

/**
 * Creates the function that makes an attempt at a leased delivery: it signs, sends, and determines the next state, and
 * returns after the result is recorded. A delivery that cannot be attempted here is released. Rejects if the result
 * cannot be recorded; the delivery is then attempted again when its lease expires.
 */
export function createAttempt(parts: AttemptParts) {
  const { agents, signers, recorder, health, report, release, isFailing, isOpen } = parts;
  return async (job: DeliveryJob, signal: AbortSignal): Promise<Attempted> => {
    // A result that cannot be recorded would cause another attempt.
    if (recorder.behind()) await recorder.caughtUp();

    // The lease could expire during the attempt.
    if (performance.now() - job.leasedAtMs > startWithinMs) {
      report.released('late');
      await release(job);
      return notAttempted;
    }

    // If no key decrypts the secret, this instance skips the webhook for a while. Another instance may have the key.
    const signer = signers.signerOf(job);
    if (!signer) {
      report.released('secret');
      await release(job);
      return notAttempted;
    }

    const wasFailing = isFailing(job.webhookId);
    const agent = agents.of(job, job.endpoint);
    let result: AttemptResult;
    try {
      result = await traceAttempt(job, ({ traceparent, tracestate }) =>
        send(agent, signer, { ...job, traceparent, tracestate }),
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
    await health.note(job, settlement, isOpen(job.webhookId));
    return { durationMs: result.durationMs, health: healthOf(result), dueInMs: settlement.dueInMs };
  };
}
