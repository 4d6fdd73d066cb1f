import { WebhookVerificationError } from './errors.ts';
import type { WebhookEvent } from './generated/types.ts';

/** Headers of a received request: of the Fetch API, or by name, as Node has them. */
export type ReceivedHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** Settings of {@link verifyWebhook}. */
export interface VerifyOptions {
  /** Maximum difference between the request's timestamp and the clock, in seconds. Default: 300. */
  readonly toleranceSeconds?: number | undefined;
}

const defaultToleranceSeconds = 300;
/** Minimum length of a secret (Standard Webhooks), without which a secret that is not set would verify anything. */
const minSecretBytes = 24;

/**
 * Verifies a received request's signature, and returns its event. Types of later versions of the service may occur.
 *
 * Rejects with {@link WebhookVerificationError} unless one of the secrets signed the request within the tolerance, and
 * with a TypeError if there is no secret, or one is malformed.
 *
 * @param payload the raw body, before any parsing
 * @param secrets `whsec_…` of the webhook; during a rotation, the new and the previous one
 */
export async function verifyWebhook(
  payload: string | Uint8Array | ArrayBuffer,
  headers: ReceivedHeaders,
  secrets: string | readonly string[],
  { toleranceSeconds = defaultToleranceSeconds }: VerifyOptions = {},
): Promise<WebhookEvent> {
  const keys = await Promise.all([secrets].flat().map(importKey));
  if (keys.length === 0) throw new TypeError('there is no secret to verify with');
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    headerOf(headers, name),
  ) as [string, string, string];
  if (!id || !timestamp || !signatures) {
    throw new WebhookVerificationError('webhook-id, webhook-timestamp or webhook-signature is missing');
  }
  const ageSeconds = /^[0-9]{1,12}$/.test(timestamp) ? Date.now() / 1_000 - Number(timestamp) : Number.NaN;
  if (!(Math.abs(ageSeconds) <= toleranceSeconds)) {
    throw new WebhookVerificationError('webhook-timestamp is not a time within the tolerance');
  }
  const body = typeof payload === 'string' ? new TextEncoder().encode(payload) : new Uint8Array(payload);
  const signed = concatenated(new TextEncoder().encode(`${id}.${timestamp}.`), body);
  const sent = signatures.split(' ');
  for (const key of keys) {
    const expected = `v1,${toBase64(new Uint8Array(await crypto.subtle.sign('HMAC', key, signed)))}`;
    // The texts are compared, because decoding would ignore trailing characters.
    if (sent.some((signature) => isSameText(signature, expected))) return eventOf(body);
  }
  throw new WebhookVerificationError('no signature in webhook-signature is of a known secret');
}

async function importKey(secret: string) {
  const bytes = fromBase64(secret.replace(/^whsec_/, ''));
  // The message does not contain the secret.
  if (!bytes || bytes.length < minSecretBytes) {
    throw new TypeError(`a webhook secret is "whsec_" and at least ${minSecretBytes} bytes in base64`);
  }
  if (!crypto.subtle) throw new TypeError('WebCrypto is unavailable; browsers offer it only to HTTPS pages');
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
}

/** Returns a header's value, empty if it is missing or repeated. */
function headerOf(headers: ReceivedHeaders, name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? '';
  const values = Object.entries(headers).flatMap(([key, value]) => (key.toLowerCase() === name ? (value ?? []) : []));
  return values.length === 1 ? (values[0] ?? '') : '';
}

/** Compares texts in a time that does not depend on their contents. */
function isSameText(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let i = 0; i < one.length; i += 1) difference |= one.charCodeAt(i) ^ other.charCodeAt(i);
  return difference === 0;
}

function eventOf(body: Uint8Array): WebhookEvent {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as WebhookEvent;
  } catch (cause) {
    throw new WebhookVerificationError('the signed body is not JSON', { cause });
  }
}

function concatenated(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(one.length + other.length);
  all.set(one);
  all.set(other, one.length);
  return all;
}

function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

/** Decodes base64; undefined if the text is not base64. */
function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
