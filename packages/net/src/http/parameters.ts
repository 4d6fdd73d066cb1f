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

const mediaTypeForm = /^([!#$%&'*+.^_`|~\w-]+\/[!#$%&'*+.^_`|~\w-]+)[ \t]*(?:;(.*))?$/s;

interface MediaType {
  /** "application/json", in lower case. */
  readonly name: string;
  /** By lower-case name. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** Parses a media type (RFC 9110, 8.3.1); undefined if the text is malformed or repeats a parameter. */
export function parseMediaType(text: string): MediaType | undefined {
  const [, name, rest = ''] = mediaTypeForm.exec(text) ?? [];
  const parameters = parseParameters(rest);
  return name === undefined || !parameters ? undefined : { name: name.toLowerCase(), parameters };
}
