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
    '(-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----).*?(?:-----END|$)',
  ].join('|'),
  'gi',
);
const hints = ['sk_', 'whsec_', '://', '=', 'earer ', 'asic ', 'BEARER', 'BASIC', 'PRIVATE KEY'];

/** Removes texts that look like secrets from a finished log line. */
export function redactLine(line: string): string {
  if (!hints.some((hint) => line.includes(hint))) return line;
  return line.replace(secretTexts, (_, ...groups) => {
    const kept = groups.find((group) => group !== undefined);
    return `${kept}${censored}`;
  });
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
