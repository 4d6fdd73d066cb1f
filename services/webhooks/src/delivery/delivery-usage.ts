import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { DeliveryCounts } from '@rms/proto/rms/alerts/v1/usage_pb';
import type { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import type { RpcClient } from '@rms/rpc';
import type { Logger } from '@rms/service';
import { addLatency, noLatencies, type Tally, UsageReporter } from '@rms/usage';
import type { Tenant } from '../subscription/webhook.ts';
import { toEnvironmentMessage } from '../subscription/webhook-message.ts';
import type { Recording } from './record-queries.ts';

/** What attempts at one webhook came to. */
interface DeliveryTally extends Tally, Tenant {
  readonly webhookId: string;
  attempts: number;
  failedAttempts: number;
  delivered: number;
  failed: number;
  /** Since the last one that went well. */
  failuresAtEnd: number;
  readonly latencies: number[];
}

/** Counts what attempts come to, and reports it to alerts once a second: no delivery waits for that. */
export interface DeliveryUsage {
  /** They are recorded. */
  count(recordings: readonly Recording[]): void;
  start(): void;
  /** Reports what is left. */
  stop(): Promise<void>;
}

export function createDeliveryUsage(
  alerts: Pick<RpcClient<typeof UsageService>, 'reportUsage'>,
  log: Logger,
): DeliveryUsage {
  const reporter = new UsageReporter<DeliveryTally>({
    send: ({ reporterId, sequence, tallies }) =>
      alerts.reportUsage({ reporterId, sequence, deliveries: tallies.map(toMessage) }),
    add,
    log,
  });
  return {
    count(recordings) {
      for (const { job, result, settlement } of recordings) {
        const tally = reporter.tally(job.webhookId, (key, minuteMs) => newTally(key, minuteMs, job));
        if (!tally) continue;
        tally.attempts += 1;
        if (settlement.status === 'delivered') {
          tally.delivered += 1;
          tally.failuresAtEnd = 0;
        } else {
          tally.failedAttempts += 1;
          tally.failuresAtEnd += 1;
          if (settlement.status === 'failed') tally.failed += 1;
        }
        addLatency(tally.latencies, result.durationMs);
      }
    },
    start: () => reporter.start(),
    stop: () => reporter.stop(),
  };
}

function newTally(webhookId: string, minuteMs: number, { workspaceId, environment }: Tenant): DeliveryTally {
  const counts = { attempts: 0, failedAttempts: 0, delivered: 0, failed: 0, failuresAtEnd: 0 };
  return { key: webhookId, minuteMs, workspaceId, environment, webhookId, ...counts, latencies: noLatencies() };
}

function add(earlier: DeliveryTally, later: DeliveryTally): void {
  const wentWell = later.failedAttempts < later.attempts;
  earlier.failuresAtEnd = later.failuresAtEnd + (wentWell ? 0 : earlier.failuresAtEnd);
  for (const name of ['attempts', 'failedAttempts', 'delivered', 'failed'] as const) earlier[name] += later[name];
  for (const [i, count] of later.latencies.entries()) earlier.latencies[i] = (earlier.latencies[i] ?? 0) + count;
}

function toMessage(tally: DeliveryTally): Omit<DeliveryCounts, '$typeName'> {
  return {
    workspaceId: tally.workspaceId,
    environment: toEnvironmentMessage(tally.environment),
    time: timestampFromMs(tally.minuteMs),
    webhookId: tally.webhookId,
    attempts: BigInt(tally.attempts),
    failedAttempts: BigInt(tally.failedAttempts),
    delivered: BigInt(tally.delivered),
    failed: BigInt(tally.failed),
    failuresAtEnd: BigInt(tally.failuresAtEnd),
    latencies: tally.latencies.map(BigInt),
  };
}
