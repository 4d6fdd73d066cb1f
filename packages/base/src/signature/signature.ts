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
