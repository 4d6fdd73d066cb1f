import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import { type Tenant, toTenant } from '@rms/base/tenant';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import type { DeliveryCounts, RequestCounts } from '@rms/proto/rms/alerts/v1/usage_pb';
import type { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { latencyBoundsMs } from '@rms/reporting/usage';
import type { Handlers } from '@rms/rpc';
import { evaluateSoon } from '../evaluate/evaluation-queries.ts';
import {
  addDeliveries,
  addRequests,
  type CountedDeliveries,
  type CountedRequests,
  rowsOf,
  runsOf,
} from '../usage/usage.ts';
import { addDeliveryCounts, addRequestCounts, addRuns, takeReport } from '../usage/usage-queries.ts';
import { type HandlerParts, refuse } from './handler.ts';

const batchLimit = 10_000;
const maxIdLength = 64;
const maxUrlLength = 2_048;
/** As in the delivery log. */
const maxErrorLength = 500;
/** Accepted difference between the clocks of reporters and this service. */
const toleranceMs = 5 * 60_000;
/** Maximum delay of a rule evaluation after new counts. */
const evaluateWithinMs = 2_000;

/**
 * Adds reported counts. The same transaction records the report's sequence number, so a repeated report is not counted
 * twice.
 */
export function reportUsage({ pool, evaluations, now }: HandlerParts): Handlers<typeof UsageService>['reportUsage'] {
  return async ({ reporterId, sequence, requests, deliveries }) => {
    if (reporterId === '' || reporterId.length > maxIdLength) refuse('reporter_id', 'must have 1 to 64 characters');
    if (sequence < 1n) refuse('sequence', 'must be at least 1');
    if (Math.max(requests.length, deliveries.length) > batchLimit)
      refuse('requests', 'must have at most 10,000 entries');
    const counted = requests.map((one) => toCountedRequests(one, now()));
    const delivered = deliveries.map((one) => toCountedDeliveries(one, now()));
    if (counted.length + delivered.length === 0) return {};
    await inTransaction(pool, async (tx) => {
      const fresh = new Set((await takeReport(tx, { reporterId, sequence }, [...counted, ...delivered])).map(nameOf));
      const isFresh = (one: Tenant) => fresh.has(nameOf(one));
      const newRequests = counted.filter(isFresh);
      const newDeliveries = delivered.filter(isFresh);
      if (newRequests.length > 0)
        await addRequestCounts(
          tx,
          rowsOf(newRequests, () => '', addRequests),
        );
      if (newDeliveries.length > 0) await addDeliveriesOf(tx, newDeliveries);
      if (fresh.size > 0) await evaluateSoon(tx, [...newRequests, ...newDeliveries], evaluateWithinMs);
    });
    evaluations.wake(evaluateWithinMs);
    return {};
  };
}

async function addDeliveriesOf(tx: Queryable, counted: readonly CountedDeliveries[]): Promise<void> {
  const ofAll = counted.map((one) => ({ ...one, webhookId: '' }));
  await addDeliveryCounts(
    tx,
    rowsOf([...counted, ...ofAll], ({ webhookId }) => webhookId, addDeliveries),
  );
  const runs = runsOf(counted.filter(({ attempts }) => attempts > 0));
  if (runs.length > 0) await addRuns(tx, runs);
}

function nameOf({ workspaceId, environment }: Tenant): string {
  return `${workspaceId}\n${environment}`;
}

function toCountedRequests(one: RequestCounts, nowMs: number): CountedRequests {
  return {
    ...toTenant(one),
    atMs: timeOf(one.time, nowMs),
    requests: toCount(one.requests),
    admitted: toCount(one.admitted),
    clientErrors: toCount(one.clientErrors),
    serverErrors: toCount(one.serverErrors),
    rateLimited: toCount(one.rateLimited),
    quotaRefused: toCount(one.quotaRefused),
    latencies: toLatencies(one.latencies),
    monthlyQuota: toCount(one.monthlyQuota),
  };
}

function toCountedDeliveries(one: DeliveryCounts, nowMs: number): CountedDeliveries {
  if (one.webhookId === '' || one.webhookId.length > maxIdLength) refuse('webhook_id', 'must be a webhook ID');
  return {
    ...toTenant(one),
    atMs: timeOf(one.time, nowMs),
    webhookId: one.webhookId,
    url: one.url.slice(0, maxUrlLength),
    lastError: one.lastError.slice(0, maxErrorLength),
    attempts: toCount(one.attempts),
    failedAttempts: toCount(one.failedAttempts),
    delivered: toCount(one.delivered),
    failed: toCount(one.failed),
    canceled: toCount(one.canceled),
    failuresAtEnd: toCount(one.failuresAtEnd),
    latencies: toLatencies(one.latencies),
  };
}

/**
 * Returns the time of counts. Replaces a time in the future with the current time, because the reporter's clock is
 * wrong.
 */
function timeOf(time: Timestamp | undefined, nowMs: number): number {
  const atMs = time ? timestampMs(time) : nowMs;
  return atMs > nowMs + toleranceMs ? nowMs : atMs;
}

function toLatencies(counts: readonly bigint[]): number[] {
  if (counts.length !== latencyBoundsMs.length + 1)
    refuse('latencies', `must have ${latencyBoundsMs.length + 1} counts`);
  return counts.map(toCount);
}

function toCount(value: bigint): number {
  if (value < 0n || value > 1_000_000_000_000_000n) refuse('requests', 'counts must be 0 to 10^15');
  return Number(value);
}
