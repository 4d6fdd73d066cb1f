import { traceIdOf } from '@rms/async/tracing';
import { idTime } from '@rms/base/ids';
import type { Logger } from '@rms/runtime/logging';
import { Counter, Histogram, type Metrics } from '@rms/runtime/metrics';
import type { AttemptResult, DeliveryJob, Settlement } from './job.ts';

/** Logs and counts each attempt once. */
export interface AttemptReporter {
  /** @param wasFailing whether the endpoint's previous attempt was slow or failed */
  attempted(job: DeliveryJob, result: AttemptResult, settlement: Settlement, wasFailing: boolean): void;
  /** Counts a released job: its lease could expire during the attempt, or no key decrypts the secret of its webhook. */
  released(reason: 'late' | 'secret'): void;
  /** Counts a job that was released because no connection could be opened here. Logs this once per minute. */
  unconnected(err: unknown): void;
  /** Counts and logs an attempt with a result that could not be recorded. The delivery is attempted again. */
  unrecorded(job: DeliveryJob, err: unknown): void;
}

/** Prefixes of attempt errors; see {@link AttemptResult}. */
const causes = new Set(['status', 'timeout', 'blocked', 'connect', 'proxy', 'dns', 'tls', 'connection']);
/** Time between log lines about missing connections. */
const quietMs = 60_000;
const results = { delivered: 'delivered', pending: 'retry', failed: 'failed' } as const;

export function createAttemptReporter(metrics: Metrics, log: Logger): AttemptReporter {
  const registers = [metrics];
  const attempts = new Counter({
    name: 'rms_delivery_attempts_total',
    help: 'Attempts by result (delivered, retry, failed) and by cause of failure ("none" if delivered).',
    labelNames: ['environment', 'result', 'cause'],
    registers,
  });
  const durations = new Histogram({
    name: 'rms_delivery_attempt_duration_seconds',
    help: 'Duration of attempts, from dialing to the end of the response.',
    labelNames: ['environment'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const ageBuckets = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200, 43_200, 86_400];
  const firstAges = new Histogram({
    name: 'rms_delivery_first_attempt_age_seconds',
    help: 'Age of events at their first attempt; "failing": the previous attempt at the endpoint was slow or failed.',
    labelNames: ['environment', 'endpoint'],
    buckets: ageBuckets,
    registers,
  });
  const ages = new Histogram({
    name: 'rms_delivery_age_seconds',
    help: 'Age of events when they were delivered, including all waiting time; without redeliveries and replays.',
    labelNames: ['environment'],
    buckets: ageBuckets,
    registers,
  });
  const lost = new Counter({
    name: 'rms_delivery_attempts_lost_total',
    help: 'Jobs released without an attempt (late, secret, connection), and attempts that could not be recorded (unrecorded).',
    labelNames: ['reason'],
    registers,
  });
  for (const reason of ['late', 'secret', 'connection', 'unrecorded']) lost.inc({ reason }, 0);

  let quietUntilMs = Number.NEGATIVE_INFINITY;
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
    released: (reason) => lost.inc({ reason }),
    unconnected(err) {
      lost.inc({ reason: 'connection' });
      if (performance.now() < quietUntilMs) return;
      quietUntilMs = performance.now() + quietMs;
      log.error({ err }, 'no further connection can be opened here; deliveries wait. Raise the limit of open files');
    },
    unrecorded(job, err) {
      lost.inc({ reason: 'unrecorded' });
      // After the lease expires, an instance attempts the delivery again.
      log.error({ err, ...named(job) }, 'attempt result not recorded; the delivery is attempted again');
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
