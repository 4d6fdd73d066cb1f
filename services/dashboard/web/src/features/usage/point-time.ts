import type { SpanName } from '../../../../src/documents/usage.ts';

/**
 * Formats a chart point's time.
 *
 * - hour: a minute, in local time
 * - day: an hour of UTC, in local time. It begins at half past where the local time does. The time zone's name
 *   distinguishes the two equal hours at the end of summer time.
 * - month: a day of UTC. In local time, it would have the day's name before in the west.
 *
 * @param timeZone undefined: the time zone of the browser
 */
export function pointTime(span: SpanName, at: string, timeZone?: string, locale?: string): string {
  const date = new Date(at);
  if (span === 'month') {
    return `${new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' }).format(date)} UTC`;
  }
  const options: Intl.DateTimeFormatOptions =
    span === 'hour'
      ? { timeStyle: 'short' }
      : { weekday: 'short', hour: 'numeric', minute: '2-digit', timeZoneName: 'short' };
  return new Intl.DateTimeFormat(locale, { ...options, ...(timeZone ? { timeZone } : {}) }).format(date);
}
