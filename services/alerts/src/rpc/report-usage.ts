import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import { type Tenant, toTenant } from '@rms/base/tenant';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import {
  type DeliveryCounts,
  DeliveryDimension,
  type DeliveryGroupCounts,
  type RequestCounts,
  RequestDimension,
  type RequestGroupCounts,
} from '@rms/proto/rms/alerts/v1/usage_pb';
import type { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { latencyBoundsMs } from '@rms/reporting/usage';
import { type EnumNames, enumNames, type Handlers } from '@rms/rpc';
import { evaluateSoon } from '../evaluate/evaluation-queries.ts';
import { refuse } from '../refuse.ts';
import {
  addDeliveries,
  addRequests,
  addSums,
  type CountedDeliveries,
  type CountedDeliveryGroup,
  type CountedRequestGroup,
  type CountedRequests,
  deliveryGroupNames,
  type Group,
  requestGroupNames,
  rowsOf,
  runsOf,
} from '../usage/usage.ts';
import {
  addDeliveryCounts,
  addDeliveryGroups,
  addRequestCounts,
  addRequestGroups,
  addRuns,
  takeReport,
} from '../usage/usage-queries.ts';
import type { HandlerParts } from './handler.ts';

const batchLimit = 10_000;
const maxIdLength = 64;
/** Maximum length of a group's name. */
const maxNameLength = 128;
const maxUrlLength = 2_048;
/** As in the delivery log. */
const maxErrorLength = 500;
/** Accepted difference between the clocks of reporters and this service. */
const toleranceMs = 5 * 60_000;
/** Maximum delay of a rule evaluation after new counts. */
const evaluateWithinMs = 2_000;

/** Counts of groups are kept for as long as metrics need them. */
const periodsOfGroups = ['minute', 'hour', 'day'] as const;

/**
 * Adds reported counts. The same transaction records the report's sequence number, so a repeated report is not counted
 * twice.
 */
export function reportUsage({ pool, evaluations, now }: HandlerParts): Handlers<typeof UsageService>['reportUsage'] {
  return async ({ reporterId, sequence, ...report }) => {
    if (reporterId === '' || reporterId.length > maxIdLength) refuse('reporter_id', 'must have 1 to 64 characters');
    if (sequence < 1n) refuse('sequence', 'must be at least 1');
    for (const list of [report.requests, report.deliveries, report.requestGroups, report.deliveryGroups])
      if (list.length > batchLimit) refuse('requests', 'must have at most 10,000 entries');
    const requests = report.requests.map((one) => toCountedRequests(one, now()));
    const deliveries = report.deliveries.map((one) => toCountedDeliveries(one, now()));
    const requestGroups = report.requestGroups.map((one) => toCountedRequestGroup(one, now()));
    const deliveryGroups = report.deliveryGroups.map((one) => toCountedDeliveryGroup(one, now()));
    const all: Tenant[] = [...requests, ...deliveries, ...requestGroups, ...deliveryGroups];
    if (all.length === 0) return {};
    await inTransaction(pool, async (tx) => {
      const fresh = new Set((await takeReport(tx, { reporterId, sequence }, all)).map(nameOf));
      const isFresh = (one: Tenant) => fresh.has(nameOf(one));
      await addRequestCounts(
        tx,
        rowsOf(requests.filter(isFresh), () => '', addRequests),
      );
      await addDeliveriesOf(tx, deliveries.filter(isFresh));
      await addRequestGroups(tx, rowsOf(requestGroups.filter(isFresh), groupKeyOf, addRequestGroup, periodsOfGroups));
      await addDeliveryGroups(
        tx,
        rowsOf(withAll(deliveryGroups.filter(isFresh)), deliveryGroupKeyOf, addDeliveryGroup, periodsOfGroups),
      );
      const counted = [...requests, ...deliveries].filter(isFresh);
      if (counted.length > 0) await evaluateSoon(tx, counted, evaluateWithinMs);
    });
    if (requests.length + deliveries.length > 0) evaluations.wake(evaluateWithinMs);
    return {};
  };
}

const groupKeyOf = ({ dimension, name }: Group) => `${dimension}\n${name}`;
const deliveryGroupKeyOf = (one: CountedDeliveryGroup) => `${one.webhookId}\n${groupKeyOf(one)}`;
const addRequestGroup = (one: CountedRequestGroup, other: CountedRequestGroup) =>
  addSums(one, other, requestGroupNames);
const addDeliveryGroup = (one: CountedDeliveryGroup, other: CountedDeliveryGroup) =>
  addSums(one, other, deliveryGroupNames);

/** Returns the webhooks' counts, and the same counts for the sums of all webhooks. */
function withAll<T extends { readonly webhookId: string }>(counted: readonly T[]): T[] {
  return [...counted, ...counted.map((one) => ({ ...one, webhookId: '' }))];
}

async function addDeliveriesOf(tx: Queryable, counted: readonly CountedDeliveries[]): Promise<void> {
  await addDeliveryCounts(
    tx,
    rowsOf(withAll(counted), ({ webhookId }) => webhookId, addDeliveries),
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
    created: toCount(one.created),
    skipped: toCount(one.skipped),
    filtered: toCount(one.filtered),
    failuresAtEnd: toCount(one.failuresAtEnd),
    latencies: toLatencies(one.latencies),
  };
}

const requestDimensions: EnumNames<'route' | 'status_class' | 'api_key_id', RequestDimension> =
  enumNames(RequestDimension);
const deliveryDimensions: EnumNames<'event_type' | 'outcome', DeliveryDimension> = enumNames(DeliveryDimension);

function toCountedRequestGroup(group: RequestGroupCounts, nowMs: number): CountedRequestGroup {
  const dimension = requestDimensions.toName(group.dimension) ?? refuse('dimension', 'must be a known dimension');
  return { ...toCountedRequests(countsOf(group), nowMs), dimension, name: nameOfGroup(group) };
}

function toCountedDeliveryGroup(group: DeliveryGroupCounts, nowMs: number): CountedDeliveryGroup {
  const dimension = deliveryDimensions.toName(group.dimension) ?? refuse('dimension', 'must be a known dimension');
  return { ...toCountedDeliveries(countsOf(group), nowMs), dimension, name: nameOfGroup(group) };
}

function countsOf<T>({ counts }: { readonly counts?: T | undefined }): T {
  return counts ?? refuse('counts', 'is required');
}

function nameOfGroup({ name }: { readonly name: string }): string {
  if (name === '' || name.length > maxNameLength) refuse('name', 'must have 1 to 128 characters');
  return name;
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
