import type { Duration, Timestamp } from '@bufbuild/protobuf/wkt';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { durationFromMs } from '@rms/rpc';
import { z } from 'zod';

const example = '2026-01-02T03:04:05.678Z';

/** A time in a request: ISO 8601 with seconds and a UTC offset. */
export const timeInput = z.iso.datetime({ offset: true }).meta({
  override: ({ jsonSchema }) => {
    delete jsonSchema.pattern;
  },
  examples: [example],
});

/** A time in a response. */
export const shownTime = z.string().meta({ format: 'date-time', examples: [example] });

/** Query parameters that restrict a list to a time span. */
export const createdRange = {
  created_after: timeInput.optional().describe('Only items created at or after this time.'),
  created_before: timeInput.optional().describe('Only items created before this time.'),
};

/** Returns the schema for a duration in seconds, with fractions. */
export function seconds(least: number, most: number) {
  return z.number().min(least).max(most);
}

export function toDuration(seconds: number): Duration {
  return durationFromMs(seconds * 1_000);
}

export function toTimestamp(text: string): Timestamp {
  return timestampFromDate(new Date(text));
}
