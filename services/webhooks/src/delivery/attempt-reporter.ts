import { idTime } from '@rms/ids';
import { Counter, Histogram, type Logger, type Metrics } from '@rms/service';
import { traceIdOf } from '@rms/tracing';
import type { AttemptResult, DeliveryJob } from './job.ts';
import type { Settlement } from './settle.ts';

/** Writes the log line and counts, for each attempt once. */
export interface AttemptReporter {
  /** @param wasFailing whether the endpoint's attempt before was slow or failed */
  attempted(job: DeliveryJob, result: AttemptResult, settlement: Settlement, wasFailing: boolean): void;
  /** A job that was taken is given back: its lease could have ended, or no key opens the secret of its webhook. */
  givenBack(reason: 'late' | 'secret'): void;
  /** An attempt was made and could not be written down; it is made again. */
  unrecorded(job: DeliveryJob, err: unknown): void;
}

/** What errors of attempts begin with; see {@link AttemptResult}. */
const causes = new Set(['status', 'timeout', 'blocked', 'connect', 'proxy', 'dns', 'tls', 'connection']);
const results = { delivered: 'delivered', pending: 'retry', failed: 'failed' } as const;

export function createAttemptReporter(metrics: Metrics, log: Logger): AttemptReporter {
  const registers = [metrics];
  const attempts = new Counter({
    name: 'rms_delivery_attempts_total',
    help: 'Attempts by what follows (delivered, retry, failed) and by what went wrong ("none": it was delivered).',
    labelNames: ['environment', 'result', 'cause'],
    registers,
  });
  const durations = new Histogram({
    name: 'rms_delivery_attempt_duration_seconds',
    help: 'How long attempts took, from the dial to the end of the answer.',
    labelNames: ['environment'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const ageBuckets = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200, 43_200, 86_400];
  const firstAges = new Histogram({
    name: 'rms_delivery_first_attempt_age_seconds',
    help: 'From an event until the first attempt to deliver it began; "failing": its endpoint was slow or failed just before.',
    labelNames: ['environment', 'endpoint'],
    buckets: ageBuckets,
    registers,
  });
  const ages = new Histogram({
    name: 'rms_delivery_age_seconds',
    help: 'From an event until it was delivered, whatever it waited for; what is sent again is left out.',
    labelNames: ['environment'],
    buckets: ageBuckets,
    registers,
  });
  const lost = new Counter({
    name: 'rms_delivery_attempts_lost_total',
    help: 'Jobs given back without an attempt (late, secret), and attempts that could not be recorded (unrecorded).',
    labelNames: ['reason'],
    registers,
  });
  for (const reason of ['late', 'secret', 'unrecorded']) lost.inc({ reason }, 0);

  const count = (job: DeliveryJob, result: AttemptResult, settlement: Settlement, wasFailing: boolean) => {
    const { environment, id, again, tries } = job;
    const labels = { environment, result: results[settlement.status], cause: causeOf(result) };
    attempts.inc(labels);
    durations.observe({ environment }, result.durationMs / 1000);
    if (again) return;
    const eventAtMs = idTime(id);
    const beganAfterMs = Math.max(0, result.startedAt.getTime() - eventAtMs);
    if (tries === 0) {
      firstAges.observe({ environment, endpoint: wasFailing ? 'failing' : 'working' }, beganAfterMs / 1000);
    }
    if (settlement.status === 'delivered') ages.observe({ environment }, (beganAfterMs + result.durationMs) / 1000);
  };

  return {
    attempted(job, result, settlement, wasFailing) {
      count(job, result, settlement, wasFailing);
      const level = settlement.status === 'failed' ? 'warn' : 'info';
      if (!log.isLevelEnabled(level)) return;
      log[level](
        {
          ...named(job),
          attempt: job.tries + 1,
          result: results[settlement.status],
          status_code: result.statusCode,
          ...(result.error === '' ? {} : { error: result.error }),
          duration_ms: result.durationMs,
        },
        'attempt',
      );
    },
    givenBack: (reason) => lost.inc({ reason }),
    unrecorded(job, err) {
      lost.inc({ reason: 'unrecorded' });
      // The lease ends by itself, and the delivery is attempted again.
      log.error({ err, ...named(job) }, 'an attempt was not recorded');
    },
  };
}

function named({ requestId, traceparent, eventId, id, webhookId, workspaceId, environment }: DeliveryJob) {
  return {
    request_id: requestId,
    trace_id: traceIdOf(traceparent) || undefined,
    workspace_id: workspaceId,
    environment,
    event_id: eventId,
    webhook_id: webhookId,
    delivery_id: id,
  };
}

function causeOf({ error }: AttemptResult): string {
  if (error === '') return 'none';
  const cause = error.slice(0, error.indexOf(':'));
  return causes.has(cause) ? cause : 'connection';
}
