/** token (RFC 9110, 5.6.2). */
const token = "[!#$%&'*+.^_`|~\\w-]+";
const pair = new RegExp(`[ \\t]*(?:(${token})=(${token}|[\\w.:[\\]-]+|"(?:[^"\\\\]|\\\\.)*")[ \\t]*)?(;|$)`, 'y');

/**
 * Parses parameters separated by ";": `name=value`, where the value is a token or a quoted string (RFC 9110, 5.6.6).
 * Addresses with ports and brackets are accepted without quotes as well, because many proxies omit them. Returns the
 * values by lower-case name, or undefined if the text is malformed or repeats a name.
 */
export function parseParameters(text: string): ReadonlyMap<string, string> | undefined {
  const values = new Map<string, string>();
  pair.lastIndex = 0;
  for (;;) {
    const match = pair.exec(text);
    if (!match) return undefined;
    const [, name, value = '', end] = match;
    if (name !== undefined) {
      if (values.has(name.toLowerCase())) return undefined;
      values.set(name.toLowerCase(), value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value);
    }
    if (end === '') return values;
  }
}

/**
 * Returns the position after the last comma before `end` that is not part of a quoted string, or 0. Reading from the
 * right, a client cannot influence how the entries of trusted proxies are split, because proxies append theirs.
 */
export function startOfLastEntry(list: string, end: number): number {
  let isQuoted = false;
  for (let i = end - 1; i >= 0; i -= 1) {
    const char = list[i];
    if (char === ',' && !isQuoted) return i + 1;
    if (char === '"' && !(isQuoted && isEscaped(list, i))) isQuoted = !isQuoted;
  }
  return 0;
}

function isEscaped(text: string, position: number): boolean {
  let backslashes = 0;
  while (text[position - 1 - backslashes] === '\\') backslashes += 1;
  return backslashes % 2 === 1;
}
