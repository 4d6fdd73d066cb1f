/** Endings of the names of fields with secrets. The comparison ignores case, "-" and "_". */
const secretEndings = [
  'apikey',
  'authorization',
  'connectionstring',
  'cookie',
  'credentials',
  'databaseurl',
  'dsn',
  'encryptionkey',
  'encryptionkeyprevious',
  'idempotencykey',
  'keyvalue',
  'masterkey',
  'passphrase',
  'password',
  'privatekey',
  'redisurl',
  'secret',
  'secretkey',
  'secrets',
  'sessionkey',
  'signingkey',
  'smtpurl',
  'token',
];
const deepest = 8;
const censored = '[secret]';

/** Replaces fields with secret names, at any depth, and raw bytes. Returns the value itself if it contains none. */
export function redact<T>(value: T, depth = 0): T {
  if (typeof value !== 'object' || value === null || value instanceof Error) return value;
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]` as T;
  if ('toJSON' in value) return value;
  if (depth > deepest) return '[too deep]' as T;
  let copy: Record<string, unknown> | undefined;
  for (const [name, inner] of Object.entries(value)) {
    const shown = isSecretName(name) ? censored : redact(inner, depth + 1);
    if (shown === inner) continue;
    copy ??= (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
    copy[name] = shown;
  }
  return (copy ?? value) as T;
}

/**
 * Patterns of secrets anywhere in a log line. The group of each pattern is kept, the rest is removed. Quotes and
 * backslashes in a JSON line are escaped; `\\.` matches these escapes.
 */
const secretTexts = new RegExp(
  [
    // API keys and webhook secrets.
    '(sk_(?:live|test)_)[0-9A-Za-z]{8,}',
    String.raw`(whsec_)[\w+/=-]{8,}`,
    // The password in a URL, up to the last "@" before its path.
    String.raw`(:\/\/[^\s:/@"]*:)(?:\\.|[^\s"/\\])+(?=@)`,
    // Authorization headers.
    String.raw`(\b(?:Bearer|Basic)\s+)[^\s"\\,;]{8,}`,
    // "password=…" in query strings and connection strings.
    String.raw`((?:password|passwd|passphrase|secret|token|api_?key)=)[^\s"\\&,;]+`,
    // 32 bytes in base64, such as the encryption key.
    String.raw`((?<![\w+/-]))[A-Za-z0-9+/]{43}=(?![\w+/=-])`,
    // A private key up to its end or, if that is missing, to the text's end.
    '(-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----).*?(?:-----END|$)',
  ].join('|'),
  'gis',
);
const hints = ['sk_', 'whsec_', '://', '=', 'earer ', 'asic ', 'BEARER', 'BASIC', 'PRIVATE KEY'];

/** Characters after a cut that are searched for the end of a secret that starts before it. */
const margin = 500;

/**
 * Removes texts that look like secrets from a finished log line. The work is linear in the line's length.
 * @param options.length reads only the line's beginning, and returns the redacted form of this many characters
 */
export function redactLine(line: string, { length = line.length }: { readonly length?: number } = {}): string {
  const read = line.slice(0, length + margin);
  if (!hints.some((hint) => read.includes(hint))) return read.slice(0, length);
  let redacted = '';
  let position = 0;
  for (const match of read.matchAll(secretTexts)) {
    const [secret, ...groups] = match;
    if (match.index >= length) break;
    const kept = groups.find((group) => group !== undefined);
    redacted += `${read.slice(position, match.index)}${kept}${censored}`;
    position = match.index + secret.length;
  }
  return redacted + read.slice(position, length);
}

const known = new Map<string, boolean>();

function isSecretName(name: string): boolean {
  let secret = known.get(name);
  if (secret === undefined) {
    const plain = name.toLowerCase().replaceAll(/[-_]/g, '');
    // Page tokens contain positions, not secrets.
    secret = secretEndings.some((ending) => plain.endsWith(ending)) && !plain.endsWith('pagetoken');
    if (known.size >= 1_000) known.clear();
    known.set(name, secret);
  }
  return secret;
}
