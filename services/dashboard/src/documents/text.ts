import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';

/** Formats a timestamp as ISO 8601 in UTC; null if it is unset. */
export function timeOf(timestamp: Timestamp | undefined): string | null {
  return timestamp ? timestampDate(timestamp).toISOString() : null;
}
