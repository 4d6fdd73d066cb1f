import { isUtf8 } from 'node:buffer';
import type { HeaderPair } from '../../log/attempt.ts';

/**
 * The size of the recorded fields, with 8 bytes for each. A head of 16 KiB with usual fields fits. Fields without a
 * value would otherwise take many times their size.
 */
const headersLimit = 32 * 1024;

/** The received part of a response whose head the HTTP parser rejected. */
interface PartialResponse {
  /** 0 without a valid status line. */
  readonly statusCode: number;
  readonly headers: readonly HeaderPair[];
  /** The bytes after the head, or all bytes without a valid status line. */
  readonly rest: Buffer;
}

/**
 * Converts header fields as they arrived. Names become lower case. White space around values is not a part of them (RFC
 * 9110, section 5.5), and repeated fields stay separate. Values are UTF-8, or ISO-8859-1 if they are not valid UTF-8.
 * @param raw names and values, alternating
 */
export function headerPairs(raw: readonly Buffer[]): HeaderPair[] {
  const pairs: HeaderPair[] = [];
  let size = 0;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const [name, value] = [raw[i] as Buffer, raw[i + 1] as Buffer];
    size += name.length + value.length + 8;
    if (size > headersLimit) break;
    pairs.push([nameOf(name), textOf(value)]);
  }
  return pairs;
}

/** Returns the value of a field; undefined if it is missing, or repeated with different values. */
export function singleValue(headers: readonly HeaderPair[], name: string): string | undefined {
  const values = new Set(headers.filter(([key]) => key === name).map(([, value]) => value));
  return values.size === 1 ? [...values][0] : undefined;
}

/**
 * Parses the start of a response leniently: everything that arrived is worth recording. Informational responses are
 * skipped if another one follows. The last line may be incomplete.
 */
export function parsePartial(bytes: Buffer): PartialResponse {
  let parsed = parseHead(bytes);
  while (parsed.statusCode >= 100 && parsed.statusCode < 200 && parsed.rest.length > 0) {
    const next = parseHead(parsed.rest);
    if (next.statusCode === 0) break;
    parsed = next;
  }
  return parsed;
}

function parseHead(bytes: Buffer): PartialResponse {
  const end = /\r?\n\r?\n/.exec(bytes.toString('latin1'));
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, end?.index).split(/\r?\n/);
  const statusCode = Number(/^HTTP\/\d\.\d (\d{3})(?!\d)/.exec(statusLine)?.[1] ?? 0);
  if (statusCode === 0) return { statusCode, headers: [], rest: bytes };
  const fields = lines
    .filter((line) => line !== '')
    .flatMap((line) => (/^([^:]*):(.*)$/s.exec(line) ?? ['', line, '']).slice(1))
    .map((text) => Buffer.from(text, 'latin1'));
  const rest = end ? bytes.subarray(end.index + end[0].length) : Buffer.alloc(0);
  return { statusCode, headers: headerPairs(fields), rest };
}

function nameOf(bytes: Buffer): string {
  return storable(bytes.toString('latin1')).toLowerCase();
}

function textOf(bytes: Buffer): string {
  return storable(bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1').replace(/^[ \t]+|[ \t]+$/g, ''));
}

/** Replaces NUL, which PostgreSQL does not store in JSON. */
function storable(text: string): string {
  return text.replaceAll('\0', '\ufffd');
}
