/** A statement that a source file has sent. */
export interface RecordedStatement {
  /** Relative to the repository. */
  readonly source: string;
  /** Test file, relative to the repository. */
  readonly test: string;
  readonly text: string;
  /** Settings of the session, as options of the server: `-c name=value …`. */
  readonly options: string;
  readonly values: readonly unknown[];
}

/** Returns one line of JSON. Stores times relative to the current time. */
export function encodeStatement({ values, ...statement }: RecordedStatement): string {
  return JSON.stringify({ ...statement, values: values.map(encode) });
}

/** Reverses {@link encodeStatement}. Times keep their distance from the current time. */
export function decodeStatement(line: string): RecordedStatement {
  const { values, ...statement } = JSON.parse(line);
  return { ...statement, values: values.map(decode) };
}

function encode(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(encode);
  // Test files have their own Date and Uint8Array.
  if (ArrayBuffer.isView(value))
    return { bytes: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64') };
  if (typeof value === 'bigint') return String(value);
  if (Object.prototype.toString.call(value) === '[object Date]') return { afterMs: Number(value) - Date.now() };
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : (value ?? null);
}

function decode(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(decode);
  if (typeof value !== 'object' || value === null) return value;
  const { bytes, afterMs = 0 } = value as { bytes?: string; afterMs?: number };
  return bytes === undefined ? new Date(Date.now() + afterMs) : Buffer.from(bytes, 'base64');
}
