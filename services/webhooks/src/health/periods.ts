/** Counts are kept over periods of these lengths, in so many slots that are used again. */
export const periods = {
  five_minutes: { lengthMs: 5 * 60_000, slots: 14 },
  hour: { lengthMs: 3_600_000, slots: 26 },
} as const;

export type PeriodName = keyof typeof periods;
export const periodNames = Object.keys(periods) as readonly PeriodName[];

/** When the period began that a moment lies in. */
export function periodStartMs(name: PeriodName, atMs: number): number {
  return atMs - (atMs % periods[name].lengthMs);
}

/** Where the counts of a period are kept. */
export function slotOf(name: PeriodName, atMs: number): number {
  const { lengthMs, slots } = periods[name];
  return Math.floor(atMs / lengthMs) % slots;
}

/** What health is told of: the span that ends now, and the whole periods that it begins with. */
const spans = [
  { period: 'five_minutes', spanMs: 3_600_000 },
  { period: 'hour', spanMs: 24 * 3_600_000 },
] as const;

/** The windows that end now, the shortest first; each begins with a whole period, and so up to one earlier than its span. */
export function windowsAt(nowMs: number): { readonly period: PeriodName; readonly startMs: number }[] {
  return spans.map(({ period, spanMs }) => ({ period, startMs: periodStartMs(period, nowMs - spanMs) }));
}
