import { limits } from '../schedule/limits.ts';
import type { AttemptResult } from './attempt.ts';
import type { AttemptReporter } from './attempt-reporter.ts';
import { traceAttempt } from './attempt-span.ts';
import type { EndpointAgents } from './endpoint-agents.ts';
import { type DeliveryJob, startWithinMs } from './job.ts';
import { NoConnectionError, send } from './send.ts';
import { type Settlement, settle } from './settle.ts';
import type { Signers } from './signers.ts';

export interface AttemptParts {
  readonly agents: EndpointAgents;
  readonly signers: Pick<Signers, 'signerOf'>;
  readonly report: AttemptReporter;
  /** Whether the last attempt at a webhook was slow or failed. */
  isFailing(webhookId: string): boolean;
}

/** A delivery that was attempted. */
export interface Attempted {
  readonly result: AttemptResult;
  readonly settlement: Settlement;
}

/** A delivery that could not be attempted here. Its lease must be released after a time, in milliseconds. */
export interface Unattempted {
  readonly releaseAfterMs: number;
}

/** Returns a function that signs and sends a delivery and determines its next state. */
export function createAttempt({ agents, signers, report, isFailing }: AttemptParts) {
  return async (job: DeliveryJob): Promise<Attempted | Unattempted> => {
    // The lease could expire during the attempt.
    if (performance.now() - job.leasedAtMs > startWithinMs) {
      report.released('late');
      return { releaseAfterMs: 0 };
    }
    const signer = signers.signerOf(job);
    // If no key decrypts the secret, this instance skips the webhook for a while. Another instance may have the key.
    if (!signer) {
      report.released('secret');
      return { releaseAfterMs: 0 };
    }
    const wasFailing = isFailing(job.webhookId);
    const agent = agents.of(job, job.endpoint);
    try {
      const result = await traceAttempt(job, ({ traceparent, tracestate }) =>
        send(agent, signer, { ...job, url: job.endpoint.url, traceparent, tracestate }),
      );
      const settlement = settle(job, result);
      report.attempted(job, result, settlement, wasFailing);
      return { result, settlement };
    } catch (error) {
      if (!(error instanceof NoConnectionError)) throw error;
      report.unconnected(error);
      return { releaseAfterMs: limits.noConnectionMs };
    }
  };
}
