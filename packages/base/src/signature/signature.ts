import { createHmac, randomBytes } from 'node:crypto';

/** A webhook's secret in the two forms that the signatures require. */
export interface SigningSecret {
  /** "whsec_…", as shown to the owner. */
  readonly text: string;
  /** Decoded base64 part after "whsec_". */
  readonly bytes: Buffer;
}

/** Secrets that sign a delivery. */
export interface SigningSecrets {
  readonly current: SigningSecret;
  /** Set during a rotation's overlap. */
  readonly previous: SigningSecret | undefined;
}

const prefix = 'whsec_';
/** Minimum length required by Standard Webhooks. */
const minBytes = 24;
const maxBytes = 64;

/** Generates "whsec_" and 32 random bytes in base64 (Standard Webhooks). */
export function makeSecret(): string {
  return `${prefix}${randomBytes(32).toString('base64')}`;
}

/** Returns whether the text is "whsec_" and 24 to 64 bytes in base64. */
export function isWellFormedSecret(text: string): boolean {
  if (!text.startsWith(prefix)) return false;
  const { bytes } = toSigningSecret(text);
  // Decoding skips invalid characters, so compare the re-encoded text.
  const isBase64 = bytes.toString('base64') === text.slice(prefix.length);
  return isBase64 && bytes.length >= minBytes && bytes.length <= maxBytes;
}

/** Decodes a secret's text. Does not validate it; see {@link isWellFormedSecret}. */
export function toSigningSecret(text: string): SigningSecret {
  return { text, bytes: Buffer.from(text.slice(prefix.length), 'base64') };
}

/**
 * Computes the signature headers of a delivery attempt.
 * - `x-service-signature`: lowercase hex HMAC-SHA-256 of the raw body, keyed with the whole
 *   text of the current secret.
 * - The other headers, from Standard Webhooks: base64 HMAC-SHA-256 of "id.timestamp.body", keyed with the secret's
 *   bytes; one signature per valid secret, the current one first.
 */
export function signatureHeaders(
  { current, previous }: SigningSecrets,
  eventId: string,
  body: Uint8Array,
  nowMs: number,
) {
  const timestamp = String(Math.floor(nowMs / 1000));
  const standard = ({ bytes }: SigningSecret) =>
    `v1,${createHmac('sha256', bytes).update(`${eventId}.${timestamp}.`).update(body).digest('base64')}`;
  return {
    'x-service-signature': createHmac('sha256', current.text).update(body).digest('hex'),
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
    'webhook-signature': previous ? `${standard(current)} ${standard(previous)}` : standard(current),
  };
}

/** Content of a delivery. */
export interface DeliveryContent {
  readonly eventId: string;
  /** ID of the request that caused the event. */
  readonly requestId: string;
  /** W3C Trace Context; empty: none. */
  readonly traceparent: string;
  /** W3C Trace Context; without it: none. */
  readonly tracestate?: string;
  readonly body: Uint8Array;
}

/** Names of all headers that {@link deliveryHeaders} may return, in lower case. */
export const deliveryHeaderNames = [
  'content-type',
  'accept',
  'user-agent',
  'x-request-id',
  'x-service-signature',
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
  'traceparent',
  'tracestate',
] as const;

const userAgent = 'rms-webhooks/0.1';

/** Returns all headers of a delivery attempt except the headers of HTTP itself. */
export function deliveryHeaders(
  secrets: SigningSecrets,
  { eventId, requestId, traceparent, tracestate, body }: DeliveryContent,
  nowMs: number,
): Readonly<Partial<Record<(typeof deliveryHeaderNames)[number], string>>> {
  return {
    'content-type': 'application/json',
    // Firewalls for web applications reject requests without it.
    accept: '*/*',
    'user-agent': userAgent,
    ...(requestId ? { 'x-request-id': requestId } : {}),
    ...signatureHeaders(secrets, eventId, body, nowMs),
    ...(traceparent ? { traceparent } : {}),
    ...(traceparent && tracestate ? { tracestate } : {}),
  };
}

/**
 * Returns a delivery attempt's error for the status of its complete response; empty if the event is delivered. Many
 * receivers expect that every 2xx status is a success, so their error contains the rule.
 */
export function statusError(statusCode: number): string {
  if (statusCode === 200) return '';
  const looksLikeSuccess = statusCode > 200 && statusCode < 300;
  return looksLikeSuccess ? `status: ${statusCode}; only 200 counts as delivered` : `status: ${statusCode}`;
}
