/** Lengths of the counting periods. The counts of each length are kept in a ring of `slots` slots. */
export const periods = {
  five_minutes: { lengthMs: 5 * 60_000, slots: 14 },
  hour: { lengthMs: 3_600_000, slots: 26 },
} as const;

export type PeriodName = keyof typeof periods;
export const periodNames = Object.keys(periods) as readonly PeriodName[];

/** Returns when the period that contains `atMs` starts. */
export function periodStartMs(name: PeriodName, atMs: number): number {
  return atMs - (atMs % periods[name].lengthMs);
}

/** Returns the slot that stores a period's counts. */
export function slotOf(name: PeriodName, atMs: number): number {
  const { lengthMs, slots } = periods[name];
  return Math.floor(atMs / lengthMs) % slots;
}

/** The reported time spans, and the periods that they are summed from. */
const spans = [
  { period: 'five_minutes', spanMs: 3_600_000 },
  { period: 'hour', spanMs: 24 * 3_600_000 },
] as const;

/**
 * Returns the windows that end now, shortest first. Each starts at a period boundary, so it is up to one period longer
 * than its span.
 */
export function windowsAt(nowMs: number): { readonly period: PeriodName; readonly startMs: number }[] {
  return spans.map(({ period, spanMs }) => ({ period, startMs: periodStartMs(period, nowMs - spanMs) }));
}
