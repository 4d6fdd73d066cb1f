import { pageLocale } from '../../texts/numbers.ts';

/** Presets of the charts' time range, by the name in the URL. */
export const presets = {
  hour: { text: 'Hour', granularity: 'minute', intervals: 60 },
  day: { text: 'Day', granularity: 'hour', intervals: 24 },
  week: { text: 'Week', granularity: 'hour', intervals: 7 * 24 },
  month: { text: 'Month', granularity: 'day', intervals: 31 },
} as const;

export type Preset = keyof typeof presets;
export type Granularity = (typeof presets)[Preset]['granularity'];

/** Time range of the charts, as the API takes it. */
export interface Range {
  readonly granularity: Granularity;
  readonly from: string;
  /** Missing: until now. */
  readonly to?: string;
}

/** Search parameters of a page with charts. With `since`, the range is custom; otherwise it is a preset. */
export interface RangeSearch {
  readonly span?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

export const intervalMs: Readonly<Record<Granularity, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};
/**
 * The finest granularities of a custom range: its maximum length, so that five groups have at most 1,500 points, and how
 * long its counts are kept, in days.
 */
const finest: readonly (readonly [Granularity, days: number, keptDays: number])[] = [
  ['minute', 0.2, 2],
  ['hour', 12, 35],
];

/** Returns the preset that a search selects; undefined: a custom range. */
export function presetOf({ span, since }: RangeSearch): Preset | undefined {
  if (since) return undefined;
  return (Object.keys(presets) as Preset[]).find((name) => name === span) ?? 'hour';
}

/** Returns the range that a search selects. A preset ends with the current interval. */
export function rangeOf(search: RangeSearch, nowMs: number): Range {
  const preset = presetOf(search);
  if (preset) {
    const { granularity, intervals } = presets[preset];
    const length = intervalMs[granularity];
    return { granularity, from: new Date((Math.floor(nowMs / length) + 1 - intervals) * length).toISOString() };
  }
  const { since: from = '', until: to } = search;
  const [fromMs, toMs] = [Date.parse(from), to ? Date.parse(to) : nowMs];
  const day = intervalMs.day;
  const fits = finest.find(([, days, kept]) => toMs - fromMs <= days * day && nowMs - fromMs < kept * day);
  return { granularity: fits?.[0] ?? 'day', from, ...(to ? { to } : {}) };
}

/**
 * Formats the start of a chart's interval.
 *
 * - minute, hour: in local time. An hour of UTC begins at half past where the local time does. The time zone's name
 *   distinguishes the two equal hours at the end of summer time.
 * - day: a day of UTC. In local time, it would have the day's name before in the west.
 *
 * @param timeZone undefined: the time zone of the browser
 */
export function intervalText(
  granularity: Granularity,
  start: string,
  timeZone?: string,
  locale = pageLocale(),
): string {
  const date = new Date(start);
  if (granularity === 'day') {
    return `${new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' }).format(date)} UTC`;
  }
  const time: Intl.DateTimeFormatOptions = { weekday: 'short', hour: 'numeric', minute: '2-digit' };
  const options: Intl.DateTimeFormatOptions =
    granularity === 'minute' ? time : { ...time, month: 'short', day: 'numeric', timeZoneName: 'short' };
  return new Intl.DateTimeFormat(locale, { ...options, ...(timeZone ? { timeZone } : {}) }).format(date);
}
