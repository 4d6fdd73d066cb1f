import { isWellFormedApiKey } from '@rms/api-key';

// The characters are looked at without being taken, for another key may begin among them.
const looksLikeKey = /sk_(live|test)_(?=([0-9A-Za-z]{38}))/g;

/** The keys in a text, each once, whatever stands around them, and how many only look like one. */
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

/** All of a stream as text; an error if it is longer than `limitBytes`. */
export async function readText(input: AsyncIterable<Buffer>, limitBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    bytes += chunk.length;
    if (bytes > limitBytes) throw new Error(`the text is longer than ${limitBytes / 1e6} MB; send it in parts`);
    chunks.push(chunk);
  }
  // Keys are ASCII. Read byte by byte and without zeros, UTF-16 shows them as well as UTF-8 does.
  return Buffer.concat(chunks).toString('latin1').replaceAll('\0', '');
}
