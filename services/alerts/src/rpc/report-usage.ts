import { timestampMs } from '@bufbuild/protobuf/wkt';
import { inTransaction, type Queryable } from '@rms/db';
import type { DeliveryCounts, RequestCounts } from '@rms/proto/rms/alerts/v1/usage_pb';
import type { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import type { Handlers } from '@rms/rpc';
import { latencyBoundsMs } from '@rms/usage';
import { watchSoon } from '../evaluate/watch-queries.ts';
import { type Tenant, toTenant } from '../tenant.ts';
import {
  addDeliveries,
  addRequests,
  type CountedDeliveries,
  type CountedRequests,
  rowsOf,
  runsOf,
} from '../usage/usage.ts';
import { addDeliveryCounts, addRequestCounts, addRuns, takeReport } from '../usage/usage-queries.ts';
import { type HandlerParts, refuse, translated } from './handler.ts';

const batchLimit = 10_000;
const longestId = 64;
/** How soon rules are looked at after something was counted. */
const watchWithinMs = 2_000;

/** One transaction: which report it was, and what it adds. */
export function reportUsage({ pool, now }: HandlerParts): Handlers<typeof UsageService>['reportUsage'] {
  return ({ reporterId, sequence, requests, deliveries }) =>
    translated(async () => {
      if (reporterId === '' || reporterId.length > longestId) refuse('reporter_id', 'must have 1 to 64 characters');
      if (sequence < 1n) refuse('sequence', 'counts from 1');
      if (Math.max(requests.length, deliveries.length) > batchLimit) refuse('requests', 'a report has at most 10,000');
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
        if (newDeliveries.length > 0) await addAttempts(tx, newDeliveries);
        if (fresh.size > 0) await watchSoon(tx, [...newRequests, ...newDeliveries], watchWithinMs);
      });
      return {};
    });
}

async function addAttempts(tx: Queryable, counted: readonly CountedDeliveries[]): Promise<void> {
  const ofAll = counted.map((one) => ({ ...one, webhookId: '' }));
  await addDeliveryCounts(
    tx,
    rowsOf([...counted, ...ofAll], ({ webhookId }) => webhookId, addDeliveries),
  );
  await addRuns(tx, runsOf(counted));
}

function nameOf({ workspaceId, environment }: Tenant): string {
  return `${workspaceId}\n${environment}`;
}

function toCountedRequests(one: RequestCounts, nowMs: number): CountedRequests {
  return {
    ...toTenant(one),
    atMs: one.time ? timestampMs(one.time) : nowMs,
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
  if (one.webhookId === '' || one.webhookId.length > longestId) refuse('webhook_id', 'must be the id of a webhook');
  return {
    ...toTenant(one),
    atMs: one.time ? timestampMs(one.time) : nowMs,
    webhookId: one.webhookId,
    attempts: toCount(one.attempts),
    failedAttempts: toCount(one.failedAttempts),
    delivered: toCount(one.delivered),
    failed: toCount(one.failed),
    failuresAtEnd: toCount(one.failuresAtEnd),
    latencies: toLatencies(one.latencies),
  };
}

function toLatencies(counts: readonly bigint[]): number[] {
  if (counts.length !== latencyBoundsMs.length + 1) refuse('latencies', `has ${latencyBoundsMs.length + 1} counts`);
  return counts.map(toCount);
}

function toCount(value: bigint): number {
  if (value < 0n || value > 1_000_000_000_000_000n) refuse('requests', 'counts are not negative');
  return Number(value);
}
