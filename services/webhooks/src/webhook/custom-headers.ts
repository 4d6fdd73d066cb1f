import { type FieldViolation, RmsError } from '@rms/base/errors';
import type { SecretBox } from '@rms/base/secrets';
import { deliveryHeaderNames } from '@rms/base/signature';
import { secretHeadersContext, type WebhookRef } from '../secrets/contexts.ts';
import type { Webhook } from './webhook.ts';

/** Custom headers of the requests to an endpoint, in sending order. */
export type CustomHeaders = Readonly<Record<string, string>>;

/** Settings of a webhook that add headers to its requests. */
type HeaderSettings = Pick<Webhook, 'headers' | 'secretHeaders' | 'secretHeadersSealed' | 'signatureAlias'>;

export const noHeaders: HeaderSettings = {
  headers: {},
  secretHeaders: [],
  secretHeadersSealed: undefined,
  signatureAlias: undefined,
};

/** Header settings of a request. Undefined fields keep their value. */
interface HeaderChange {
  /** Replaces all headers, except secret ones without a value here. */
  readonly headers?: CustomHeaders | undefined;
  readonly secretHeaders?: readonly string[] | undefined;
  /** Empty: none. */
  readonly signatureAlias?: string | undefined;
}

const headersLimit = 20;
const nameLimit = 100;
const valueLimit = 500;

/** Names that the service sets, and names that belong to HTTP and to the connection. */
const reserved = new Set([
  ...deliveryHeaderNames,
  'connection',
  'content-encoding',
  'content-length',
  'date',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
]);

/**
 * Returns the header settings of a webhook after a change. A secret header without a new value keeps its value. Throws
 * `invalid_request`.
 */
export function changeHeaders(
  box: SecretBox,
  webhook: WebhookRef,
  current: HeaderSettings,
  change: HeaderChange,
): HeaderSettings {
  const { headers: given = current.headers, secretHeaders = current.secretHeaders } = change;
  const signatureAlias = change.signatureAlias === undefined ? current.signatureAlias : change.signatureAlias;
  const isSecret = namesOf(secretHeaders);
  const headers = pick(given, (name) => !isSecret.has(name));
  const stored = openHeaders(box, webhook, current.secretHeadersSealed);
  const values = new Map([stored, given].flatMap(Object.entries).map(([name, value]) => [name.toLowerCase(), value]));
  const missing = secretHeaders.filter((name) => !values.has(name.toLowerCase()));
  const details = [
    ...checkNames([...Object.keys(given).filter((name) => !isSecret.has(name.toLowerCase())), ...secretHeaders]),
    ...checkValues(given),
    ...missing.map((name) => ({
      field: 'secret_headers',
      message: `headers must contain a value for ${quoted(name)}`,
    })),
    ...checkAlias(signatureAlias || undefined, [...Object.keys(headers), ...secretHeaders]),
  ];
  if (details.length > 0) throw new RmsError('invalid_request', { details });
  const secret = Object.fromEntries(secretHeaders.map((name) => [name, values.get(name.toLowerCase()) ?? '']));
  const text = JSON.stringify(secret);
  const isUnchanged = text === JSON.stringify(stored);
  return {
    headers,
    secretHeaders,
    secretHeadersSealed: isUnchanged
      ? current.secretHeadersSealed
      : secretHeaders.length === 0
        ? undefined
        : box.seal(text, secretHeadersContext(webhook)),
    signatureAlias: signatureAlias || undefined,
  };
}

/** Decrypts the secret headers of a webhook. Throws `SecretBoxError` if no configured key decrypts them. */
export function openHeaders(box: SecretBox, webhook: WebhookRef, sealed: Buffer | undefined): CustomHeaders {
  if (!sealed) return {};
  return JSON.parse(box.open(sealed, secretHeadersContext(webhook)).toString('utf8')) as CustomHeaders;
}

/** Checks the names of all headers together. */
function checkNames(names: readonly string[]): FieldViolation[] {
  const violations = names.flatMap((name) => {
    const problem = nameProblem(name);
    return problem ? [{ field: 'headers', message: `${quoted(name)} ${problem}` }] : [];
  });
  if (names.length > headersLimit) violations.push({ field: 'headers', message: `must have at most ${headersLimit}` });
  if (namesOf(names).size < names.length) {
    violations.push({ field: 'headers', message: 'must not contain a name twice, in any case' });
  }
  return violations;
}

/** Returns why a custom header cannot have this name; undefined if it can. */
function nameProblem(name: string): string | undefined {
  if (name.length > nameLimit) return `must have at most ${nameLimit} characters`;
  // A token (RFC 9110, 5.6.2) that begins with a letter or a digit.
  if (!/^[0-9A-Za-z][!#$%&'*+.^_`|~0-9A-Za-z-]*$/.test(name)) return 'is not a name of a header';
  return reserved.has(name.toLowerCase()) ? 'is set by the service or by HTTP' : undefined;
}

function checkValues(headers: CustomHeaders): FieldViolation[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    const isValid = value.length <= valueLimit && /^[\t\x20-\x7e]*$/.test(value) && value.trim() === value;
    const message = `${quoted(name)} must have a value of at most ${valueLimit} printable ASCII characters, without spaces around it`;
    return isValid ? [] : [{ field: 'headers', message }];
  });
}

function checkAlias(alias: string | undefined, names: readonly string[]): FieldViolation[] {
  if (alias === undefined) return [];
  const problem =
    nameProblem(alias) ?? (namesOf(names).has(alias.toLowerCase()) ? 'is a custom header too' : undefined);
  return problem ? [{ field: 'signature_alias', message: `${quoted(alias)} ${problem}` }] : [];
}

function namesOf(names: readonly string[]): ReadonlySet<string> {
  return new Set(names.map((name) => name.toLowerCase()));
}

function pick(headers: CustomHeaders, includes: (lowerCaseName: string) => boolean): CustomHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => includes(name.toLowerCase())));
}

/** Returns a name for an error message, cut. */
function quoted(name: string): string {
  return JSON.stringify(name.slice(0, nameLimit));
}
