import { type Tenant, toEnvironmentMessage } from '@rms/base/tenant';
import type { DeliveryCounts } from '@rms/proto/rms/alerts/v1/usage_pb';
import type { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { addLatency, noLatencies, type Tally, UsageReporter } from '@rms/reporting/usage';
import { type RpcClient, timestampFromMs } from '@rms/rpc';
import type { Logger } from '@rms/runtime/logging';
import type { DeliveryCounter } from './ended-deliveries.ts';

/** Counts of the attempts at a webhook, and of its deliveries that ended, in one minute. */
interface DeliveryTally extends Tally, Tenant {
  readonly webhookId: string;
  /** URL of the last attempt; empty: none. */
  url: string;
  attempts: number;
  failedAttempts: number;
  delivered: number;
  failed: number;
  canceled: number;
  /** Consecutive failed attempts since the last successful one. */
  failuresAtEnd: number;
  /** Error of the last failed attempt; empty: none failed. */
  lastError: string;
  readonly latencies: number[];
}

/** Counts attempts and ended deliveries, and reports them to the alerts service once per second. */
export interface DeliveryUsage extends DeliveryCounter {
  start(): void;
  /** Reports the remaining counts. */
  stop(): Promise<void>;
}

/**
 * Without an alerts client, counting is disabled.
 * @param now milliseconds since 1970
 */
export function createDeliveryUsage(
  alerts: Pick<RpcClient<typeof UsageService>, 'reportUsage'> | undefined,
  { log, now }: { log: Logger; now: () => number },
): DeliveryUsage {
  if (!alerts) return { count() {}, countEnds() {}, start() {}, async stop() {} };
  const reporter = new UsageReporter<DeliveryTally>({
    send: ({ reporterId, sequence, tallies }) =>
      alerts.reportUsage({ reporterId, sequence, deliveries: tallies.map(toMessage) }),
    add,
    log,
    now,
  });
  return {
    count(recordings) {
      for (const { job, result, settlement } of recordings) {
        const tally = reporter.tally(job.webhookId, (key, minuteMs) => newTally(key, minuteMs, job));
        if (!tally) continue;
        tally.attempts += 1;
        tally.url = job.endpoint.url;
        if (settlement.status === 'delivered') {
          tally.delivered += 1;
          tally.failuresAtEnd = 0;
        } else {
          tally.failedAttempts += 1;
          tally.failuresAtEnd += 1;
          tally.lastError = result.error;
          if (settlement.status === 'failed') tally.failed += 1;
        }
        addLatency(tally.latencies, result.durationMs);
      }
    },
    countEnds(ends) {
      for (const end of ends) {
        const tally = reporter.tally(end.webhookId, (key, minuteMs) => newTally(key, minuteMs, end));
        if (tally) tally[end.reason === 'canceled' ? 'canceled' : 'failed'] += end.deliveries;
      }
    },
    start: () => reporter.start(),
    stop: () => reporter.stop(),
  };
}

function newTally(webhookId: string, minuteMs: number, { workspaceId, environment }: Tenant): DeliveryTally {
  const counts = { attempts: 0, failedAttempts: 0, delivered: 0, failed: 0, canceled: 0, failuresAtEnd: 0 };
  return {
    key: webhookId,
    minuteMs,
    workspaceId,
    environment,
    webhookId,
    url: '',
    lastError: '',
    ...counts,
    latencies: noLatencies(),
  };
}

function add(earlier: DeliveryTally, later: DeliveryTally): void {
  const wentWell = later.failedAttempts < later.attempts;
  earlier.url = later.url || earlier.url;
  earlier.lastError = later.lastError || earlier.lastError;
  earlier.failuresAtEnd = later.failuresAtEnd + (wentWell ? 0 : earlier.failuresAtEnd);
  for (const name of ['attempts', 'failedAttempts', 'delivered', 'failed', 'canceled'] as const)
    earlier[name] += later[name];
  for (const [i, count] of later.latencies.entries()) earlier.latencies[i] = (earlier.latencies[i] ?? 0) + count;
}

function toMessage(tally: DeliveryTally): Omit<DeliveryCounts, '$typeName'> {
  return {
    workspaceId: tally.workspaceId,
    environment: toEnvironmentMessage(tally.environment),
    time: timestampFromMs(tally.minuteMs),
    webhookId: tally.webhookId,
    url: tally.url,
    lastError: tally.lastError,
    attempts: BigInt(tally.attempts),
    failedAttempts: BigInt(tally.failedAttempts),
    delivered: BigInt(tally.delivered),
    failed: BigInt(tally.failed),
    canceled: BigInt(tally.canceled),
    failuresAtEnd: BigInt(tally.failuresAtEnd),
    latencies: tally.latencies.map(BigInt),
  };
}
