import { isWellFormedApiKey } from '@rms/base/api-key';

// The lookahead does not consume the characters, because another key may start within them.
const looksLikeKey = /sk_(live|test)_(?=([0-9A-Za-z]{38}))/g;

/** Finds the distinct keys in a text, and counts strings that look like a key but have a wrong checksum. */
export function findKeysInText(text: string): { keys: string[]; mistyped: number } {
  const keys = new Set<string>();
  const mistyped = new Set<string>();
  for (const [start, environment, rest] of text.matchAll(looksLikeKey)) {
    const key = `${start}${rest}`;
    if (isWellFormedApiKey(key, environment === 'live' ? 'live' : 'sandbox')) keys.add(key);
    else mistyped.add(key);
  }
  return { keys: [...keys], mistyped: mistyped.size };
}

/** Reads a stream as text; throws if it is longer than `limitBytes`. */
export async function readText(input: AsyncIterable<Buffer>, limitBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    bytes += chunk.length;
    if (bytes > limitBytes) throw new Error(`The text is longer than ${limitBytes / 1e6} MB. Split it into parts.`);
    chunks.push(chunk);
  }
  // Keys are ASCII. Decoding bytes as Latin-1 without zeros finds them in both UTF-8 and UTF-16.
  return Buffer.concat(chunks).toString('latin1').replaceAll('\0', '');
}
