/** Anything under a name that ends like this is a secret or holds one; compared without case, "-" and "_". */
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
  'signingkey',
  'smtpurl',
  'token',
];
const deepest = 8;
const censored = '[secret]';

/** The same value without what stands under a secret's name, at any depth, and without raw bytes; the value itself if there is nothing. */
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
 * How secrets look, wherever in a line they turn up. A group of each is kept, the rest is cut. What stands in a line of
 * JSON has its quotes and backslashes escaped: `\\.` is one of those.
 */
const secretTexts = new RegExp(
  [
    // A key's value, a webhook's secret.
    '(sk_(?:live|test)_)[0-9A-Za-z]{8,}',
    String.raw`(whsec_)[\w+/=-]{8,}`,
    // The password in a URL, to the last "@" before its path.
    String.raw`(:\/\/[^\s:/@"]*:)(?:\\.|[^\s"/\\])+(?=@)`,
    // Authorization headers.
    String.raw`(\b(?:Bearer|Basic)\s+)[^\s"\\,;]{8,}`,
    // "password=…" of query strings and connection strings.
    String.raw`((?:password|passwd|passphrase|secret|token|api_?key)=)[^\s"\\&,;]+`,
    // 32 bytes in base64, like the key that encrypts secrets at rest.
    String.raw`((?<![\w+/-]))[A-Za-z0-9+/]{43}=(?![\w+/=-])`,
    '(-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----).*?(?:-----END|$)',
  ].join('|'),
  'gi',
);
const hints = ['sk_', 'whsec_', '://', '=', 'earer ', 'asic ', 'BEARER', 'BASIC', 'PRIVATE KEY'];

/** A finished log line without texts that look like secrets. */
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
    // Page tokens say where a page starts.
    secret = secretEndings.some((ending) => plain.endsWith(ending)) && !plain.endsWith('pagetoken');
    if (known.size >= 1_000) known.clear();
    known.set(name, secret);
  }
  return secret;
}
