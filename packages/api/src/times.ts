import { type Duration, type Timestamp, timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { durationFromMs } from '@rms/rpc/times';

/** Returns the time as ISO 8601 in UTC with milliseconds; null if it is unset. */
export function timeOf(time: Timestamp | undefined): string | null {
  return time ? timestampDate(time).toISOString() : null;
}

/** Returns a time that every object of its kind has, as ISO 8601. Throws if it is unset. */
export function presentTimeOf(time: Timestamp | undefined): string {
  const text = timeOf(time);
  if (text === null) throw new Error('a service returned an object without its time');
  return text;
}

/** Rounds milliseconds to hundredths. */
export function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}

/** Returns a duration in seconds, with fractions; 0 if it is unset. */
export function fromDuration(duration: Duration | undefined): number {
  return duration ? Number(duration.seconds) + duration.nanos / 1e9 : 0;
}

export function toDuration(seconds: number): Duration {
  return durationFromMs(seconds * 1_000);
}

export function toTimestamp(text: string): Timestamp {
  return timestampFromDate(new Date(text));
}
