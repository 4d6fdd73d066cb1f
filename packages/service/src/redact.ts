/** Anything under these names is a secret or holds one; compared without case, "-" and "_". */
const secretNames = new Set([
  'apikey',
  'authorization',
  'cookie',
  'databaseurl',
  'encryptionkey',
  'idempotencykey',
  'keyvalue',
  'password',
  'proxyauthorization',
  'redisurl',
  'secret',
  'setcookie',
  'smtpurl',
  'token',
]);
const deepest = 8;
const censored = '[secret]';

/** The same value without what stands under a secret's name, at any depth; the value itself if there is nothing. */
export function redact<T>(value: T, depth = 0): T {
  if (typeof value !== 'object' || value === null || value instanceof Error || 'toJSON' in value) return value;
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

// A key's value, a webhook's secret, the password in a URL: wherever in a line they turn up.
const secretTexts =
  /\b(sk_(?:live|test)_)[0-9A-Za-z]{8,}|\b(whsec_)[0-9A-Za-z+/=]{8,}|(:\/\/[^\s:/@"]*:)[^\s@"/]+(?=@)/g;

/** A finished log line without texts that look like our secrets. */
export function redactLine(line: string): string {
  if (!line.includes('sk_') && !line.includes('whsec_') && !line.includes('://')) return line;
  return line.replace(secretTexts, (_, key = '', secret = '', url = '') => `${key}${secret}${url}${censored}`);
}

const known = new Map<string, boolean>();

function isSecretName(name: string): boolean {
  let secret = known.get(name);
  if (secret === undefined) {
    secret = secretNames.has(name.toLowerCase().replaceAll(/[-_]/g, ''));
    if (known.size >= 1_000) known.clear();
    known.set(name, secret);
  }
  return secret;
}
