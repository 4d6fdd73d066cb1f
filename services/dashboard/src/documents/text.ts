import { isUtf8 } from 'node:buffer';
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';

/** Formats a timestamp as ISO 8601 in UTC; null if it is unset. */
export function timeOf(timestamp: Timestamp | undefined): string | null {
  return timestamp ? timestampDate(timestamp).toISOString() : null;
}

/** Returns the bytes as text, or as Base64 if they are not UTF-8. */
export function textOf(bytes: Uint8Array): { text: string } | { base64: string } {
  return isUtf8(bytes)
    ? { text: Buffer.from(bytes).toString('utf8') }
    : { base64: Buffer.from(bytes).toString('base64') };
}
