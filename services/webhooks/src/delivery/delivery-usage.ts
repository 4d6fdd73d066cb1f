import { type Tenant, toEnvironmentMessage } from '@rms/base/tenant';
import { type DeliveryCounts, DeliveryDimension } from '@rms/proto/rms/alerts/v1/usage_pb';
import type { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { addLatency, noLatencies, type Tally, UsageReporter } from '@rms/reporting/usage';
import { type RpcClient, timestampFromMs } from '@rms/rpc';
import type { Logger } from '@rms/runtime/logging';
import { errorClassOf } from '../engine/attempt/error-class.ts';
import type { MadeCounter } from '../event/new-deliveries.ts';
import type { DeliveryCounter } from './ended-deliveries.ts';

const countNames = [
  'attempts',
  'failedAttempts',
  'delivered',
  'failed',
  'canceled',
  'created',
  'skipped',
  'filtered',
] as const;
type CountName = (typeof countNames)[number];

/** Counts of a webhook, or of a group of its deliveries, in one minute. */
interface DeliveryTally extends Tally, Tenant, Record<CountName, number> {
  readonly webhookId: string;
  /** URL of the last attempt; empty: none. */
  url: string;
  /** Consecutive failed attempts since the last successful one. */
  failuresAtEnd: number;
  /** Error of the last failed attempt; empty: none failed. */
  lastError: string;
  readonly latencies: number[];
}

interface GroupTally extends DeliveryTally {
  readonly dimension: DeliveryDimension;
  readonly name: string;
}

/** Counts attempts and deliveries, and reports them to the alerts service. */
export interface DeliveryUsage extends DeliveryCounter, MadeCounter {
  start(): void;
  /** Reports the remaining counts. */
  stop(): Promise<void>;
}

/** Groups are only shown, so they are reported less often than the sums, which alerts and the quota need. */
const flushGroupsEveryMs = 5_000;
/** Outcome of everything that is counted without an attempt. */
const noOutcome = 'none';

/**
 * Without an alerts client, counting is disabled. Sums are reported once per second, groups every
 * {@link flushGroupsEveryMs}.
 * @param now milliseconds since 1970
 */
export function createDeliveryUsage(
  alerts: Pick<RpcClient<typeof UsageService>, 'reportUsage'> | undefined,
  { log, now }: { log: Logger; now: () => number },
): DeliveryUsage {
  if (!alerts) return { count() {}, countEnds() {}, countMade() {}, start() {}, async stop() {} };
  const sums = new UsageReporter<DeliveryTally>({
    send: ({ tallies, ...report }) => alerts.reportUsage({ ...report, deliveries: tallies.map(toMessage) }),
    add,
    log,
    now,
  });
  const groups = new UsageReporter<GroupTally>({
    send: ({ tallies, ...report }) => alerts.reportUsage({ ...report, deliveryGroups: tallies.map(toGroupMessage) }),
    add,
    log,
    now,
    flushEveryMs: flushGroupsEveryMs,
  });

  /** Calls `count` with counts of a webhook and of the groups that a delivery belongs to. */
  const countIn = (
    of: Tenant & { readonly webhookId: string; readonly eventType: string },
    outcome: string,
    count: (tally: DeliveryTally) => void,
  ) => {
    const { webhookId, eventType } = of;
    const tally = sums.tally(webhookId, (key, minuteMs) => newTally(key, minuteMs, of));
    if (tally) count(tally);
    for (const [dimension, name] of [
      [DeliveryDimension.EVENT_TYPE, eventType],
      [DeliveryDimension.OUTCOME, outcome],
    ] as const) {
      // The previous release stores no event type.
      if (name === '') continue;
      const group = groups.tally(`${webhookId} ${dimension} ${name}`, (key, minuteMs) => ({
        ...newTally(key, minuteMs, of),
        dimension,
        name,
      }));
      if (group) count(group);
    }
  };

  return {
    count(recordings) {
      for (const { job, result, settlement } of recordings) {
        countIn(job, errorClassOf(result) ?? 'success', (tally) => {
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
        });
      }
    },
    countEnds(ends) {
      for (const end of ends) {
        countIn(end, noOutcome, (tally) => {
          tally[end.reason === 'canceled' ? 'canceled' : 'failed'] += end.deliveries;
        });
      }
    },
    countMade(made) {
      for (const one of made) {
        countIn(one, noOutcome, (tally) => {
          tally[one.kind] += one.deliveries;
        });
      }
    },
    start() {
      sums.start();
      groups.start();
    },
    async stop() {
      await Promise.all([sums.stop(), groups.stop()]);
    },
  };
}

function newTally(
  key: string,
  minuteMs: number,
  { workspaceId, environment, webhookId }: Tenant & { readonly webhookId: string },
): DeliveryTally {
  const counts = Object.fromEntries(countNames.map((name) => [name, 0])) as Record<CountName, number>;
  const last = { url: '', lastError: '', failuresAtEnd: 0 };
  return { key, minuteMs, workspaceId, environment, webhookId, ...counts, ...last, latencies: noLatencies() };
}

function add(earlier: DeliveryTally, later: DeliveryTally): void {
  const wentWell = later.failedAttempts < later.attempts;
  earlier.url = later.url || earlier.url;
  earlier.lastError = later.lastError || earlier.lastError;
  earlier.failuresAtEnd = later.failuresAtEnd + (wentWell ? 0 : earlier.failuresAtEnd);
  for (const name of countNames) earlier[name] += later[name];
  for (const [i, count] of later.latencies.entries()) earlier.latencies[i] = (earlier.latencies[i] ?? 0) + count;
}

function toMessage(tally: DeliveryTally): Omit<DeliveryCounts, '$typeName'> {
  const counts = Object.fromEntries(countNames.map((name) => [name, BigInt(tally[name])])) as Record<CountName, bigint>;
  return {
    workspaceId: tally.workspaceId,
    environment: toEnvironmentMessage(tally.environment),
    time: timestampFromMs(tally.minuteMs),
    webhookId: tally.webhookId,
    url: tally.url,
    lastError: tally.lastError,
    ...counts,
    failuresAtEnd: BigInt(tally.failuresAtEnd),
    latencies: tally.latencies.map(BigInt),
  };
}

function toGroupMessage(tally: GroupTally) {
  const { dimension, name } = tally;
  return { dimension, name, counts: { ...toMessage(tally), url: '', lastError: '' } };
}
