import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import { MetricsGranularity, type MetricsRange } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { latencyQuantile } from '@rms/reporting/usage';
import { type EnumNames, enumNames, timestampFromMs } from '@rms/rpc';
import { refuse } from '../refuse.ts';
import { addSums, noSums, type Period, type Sums, startOf } from './usage.ts';

/** Maximum number of points of a series. */
export const maxPoints = 1_500;

/** Intervals of a series: whole periods from `fromMs` to `toMs` (exclusive). */
export interface Range {
  readonly period: Exclude<Period, 'month'>;
  readonly fromMs: number;
  readonly toMs: number;
}

/** Sums of a group in an interval. */
export interface Point<Name extends string> {
  readonly startMs: number;
  /** Empty: everything. */
  readonly group: string;
  readonly sums: Sums<Name>;
}

const granularities: EnumNames<Range['period'], MetricsGranularity> = enumNames(MetricsGranularity);

/** Returns the intervals that contain a range. Throws `invalid_request` if there are more than {@link maxPoints}. */
export function rangeOf(message: MetricsRange | undefined): Range {
  const period = granularities.toName(message?.granularity ?? MetricsGranularity.UNSPECIFIED);
  if (period === undefined) refuse('granularity', 'must be minute, hour or day');
  const [fromMs, toMs] = [timeOf('from', message?.from), timeOf('to', message?.to)];
  if (fromMs >= toMs) refuse('from', 'must be before `to`');
  const range = { period, fromMs: startOf(period, fromMs), toMs: startOf(period, toMs - 1, 1) };
  // Minutes, hours and days of UTC have the same length everywhere.
  if ((range.toMs - range.fromMs) / (startOf(period, 0, 1) - startOf(period, 0)) > maxPoints) refuseSize();
  return range;
}

function timeOf(field: string, time: Timestamp | undefined): number {
  return time ? timestampMs(time) : refuse(field, 'is required');
}

function refuseSize(): never {
  refuse(
    'granularity',
    'the result would have more than 1,500 points; choose a shorter range or a coarser granularity',
  );
}

/**
 * Makes the series of the rows of a range: without groups one point per interval, with groups one per interval and
 * group that has a row.
 */
export function seriesOf<Name extends string>(
  rows: readonly Point<Name>[],
  { range, names, isGrouped }: { range: Range; names: readonly Name[]; isGrouped: boolean },
): { points: Point<Name>[]; total: Point<Name> } {
  const points = new Map<string, Point<Name>>();
  const none = noSums(names);
  const add = (point: Point<Name>) => {
    const key = `${point.startMs} ${point.group}`;
    const known = points.get(key);
    points.set(key, known ? { ...known, sums: addSums(known.sums, point.sums, names) } : point);
    if (points.size > maxPoints) refuseSize();
  };
  if (!isGrouped) {
    for (let startMs = range.fromMs; startMs < range.toMs; startMs = startOf(range.period, startMs, 1))
      add({ startMs, group: '', sums: none });
  }
  for (const row of rows) add(row);
  const sums = rows.reduce((sum, row) => addSums(sum, row.sums, names), none);
  return { points: [...points.values()].sort(inOrder), total: { startMs: range.fromMs, group: '', sums } };
}

function inOrder(one: Point<string>, other: Point<string>): number {
  return one.startMs - other.startMs || (one.group < other.group ? -1 : 1);
}

/** Returns the fields of a point's message that requests and deliveries share. */
export function toMessage<Name extends string>({ startMs, group, sums }: Point<Name>) {
  const { latencies }: Pick<Sums<never>, 'latencies'> = sums;
  const common = { startTime: timestampFromMs(startMs), group };
  if (latencies.every((count) => count === 0)) return common;
  const quantile = (share: number) => latencyQuantile(latencies, share);
  return { ...common, p50Ms: quantile(0.5), p95Ms: quantile(0.95), p99Ms: quantile(0.99) };
}

/**
 * Returns the response status class of a delivery's outcome: "2xx" to "5xx", or "none" without a response.
 * A successful attempt has status 200.
 */
export function statusClassOf(outcome: string): string {
  if (outcome === 'success') return '2xx';
  if (outcome === '429') return '4xx';
  return /^[2-5]xx$/.test(outcome) ? outcome : 'none';
}

/** Returns the error class of a delivery's outcome; "none" for a success, and for counts without an attempt. */
export function errorClassOf(outcome: string): string {
  return outcome === 'success' ? 'none' : outcome;
}
