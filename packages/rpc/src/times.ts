import { create } from '@bufbuild/protobuf';
import { type Duration, DurationSchema, type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';

// The functions of @bufbuild/protobuf/wkt make fractions of a nanosecond from fractions of a millisecond. Such a
// message cannot be serialized.

/** Converts milliseconds since 1970 to a Timestamp, rounded down to a whole microsecond. */
export function timestampFromMs(ms: number): Timestamp {
  return create(TimestampSchema, partsOf(Math.floor(ms * 1_000)));
}

/** Converts milliseconds, not negative, to a Duration, rounded to a whole microsecond. */
export function durationFromMs(ms: number): Duration {
  return create(DurationSchema, partsOf(Math.round(ms * 1_000)));
}

function partsOf(us: number) {
  const seconds = Math.floor(us / 1e6);
  return { seconds: BigInt(seconds), nanos: (us - seconds * 1e6) * 1_000 };
}
