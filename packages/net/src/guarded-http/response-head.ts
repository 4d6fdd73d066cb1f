import { isUtf8 } from 'node:buffer';

export type HeaderPair = readonly [name: string, value: string];

/**
 * The recorded fields' size, with 8 bytes per field. A head of 16 KiB with usual fields fits. Fields without a
 * value would otherwise take many times their size.
 */
const headersLimit = 32 * 1024;

/** The received part of a response with a head that the HTTP parser rejected. */
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

/** Returns a field's value; undefined if it is missing, or repeated with different values. */
export function singleValue(headers: readonly HeaderPair[], name: string): string | undefined {
  const values = new Set(headers.filter(([key]) => key === name).map(([, value]) => value));
  return values.size === 1 ? [...values][0] : undefined;
}

/**
 * Parses a response's start leniently: everything that arrived is worth recording. Informational responses are
 * skipped if another one follows. The last line may be incomplete.
 */
export function parsePartial(bytes: Buffer): PartialResponse {
  // One character per byte, so that positions in the text are positions in the bytes.
  const text = bytes.toString('latin1');
  let [start, statusCode] = [0, statusAt(text, 0)];
  if (statusCode === 0) return { statusCode, headers: [], rest: bytes };
  for (;;) {
    const { end, next } = endOfHead(text, start);
    const following = statusCode >= 100 && statusCode < 200 ? statusAt(text, next) : 0;
    if (following === 0) return { statusCode, headers: fieldsOf(text.slice(start, end)), rest: bytes.subarray(next) };
    [start, statusCode] = [next, following];
  }
}

/** Returns the status code of the response that starts at a position; 0 without a valid status line. */
function statusAt(text: string, position: number): number {
  const statusLine = text.slice(position, position + 'HTTP/1.1 200 '.length);
  return Number(/^HTTP\/\d\.\d (\d{3})(?!\d)/.exec(statusLine)?.[1] ?? 0);
}

/** Returns where the head that starts at a position ends, and the position after the empty line. */
function endOfHead(text: string, start: number): { end: number; next: number } {
  const emptyLine = /\r?\n\r?\n/g;
  emptyLine.lastIndex = start;
  const end = emptyLine.exec(text);
  return end ? { end: end.index, next: emptyLine.lastIndex } : { end: text.length, next: text.length };
}

function fieldsOf(head: string): HeaderPair[] {
  const [, ...lines] = head.split(/\r?\n/);
  const fields = lines
    .filter((line) => line !== '')
    .flatMap((line) => (/^([^:]*):(.*)$/s.exec(line) ?? ['', line, '']).slice(1))
    .map((text) => Buffer.from(text, 'latin1'));
  return headerPairs(fields);
}

function nameOf(bytes: Buffer): string {
  return storable(bytes.toString('latin1')).toLowerCase();
}

function textOf(bytes: Buffer): string {
  let [start, end] = [0, bytes.length];
  while (start < end && isBlank(bytes[start])) start += 1;
  while (start < end && isBlank(bytes[end - 1])) end -= 1;
  const value = bytes.subarray(start, end);
  return storable(value.toString(isUtf8(value) ? 'utf8' : 'latin1'));
}

/** Whether a byte is white space in a field: a space or a tab. */
function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09;
}

/** Replaces NUL, which PostgreSQL does not store in JSON. */
function storable(text: string): string {
  return text.replaceAll('\0', '\ufffd');
}
