import { createHmac, randomBytes } from 'node:crypto';

/** A webhook's secret in both forms that signatures need. */
export interface SigningSecret {
  /** "whsec_…", as the owner has it. */
  readonly text: string;
  /** The bytes that the base64 after "whsec_" stands for. */
  readonly bytes: Buffer;
}

/** What a delivery is signed with. */
export interface SigningSecrets {
  readonly current: SigningSecret;
  /** While the overlap of a rotation runs. */
  readonly previous: SigningSecret | undefined;
}

const prefix = 'whsec_';
/** Standard Webhooks asks for so many bytes. */
const fewestBytes = 24;
const mostBytes = 64;

/** "whsec_" and 32 random bytes in base64 (Standard Webhooks). */
export function makeSecret(): string {
  return `${prefix}${randomBytes(32).toString('base64')}`;
}

/** "whsec_" and 24 to 64 bytes in base64. */
export function isWellFormedSecret(text: string): boolean {
  if (!text.startsWith(prefix)) return false;
  const { bytes } = toSigningSecret(text);
  // What is not base64 is passed over when it is read.
  const isBase64 = bytes.toString('base64') === text.slice(prefix.length);
  return isBase64 && bytes.length >= fewestBytes && bytes.length <= mostBytes;
}

export function toSigningSecret(text: string): SigningSecret {
  return { text, bytes: Buffer.from(text.slice(prefix.length), 'base64') };
}

/**
 * The signature headers of one delivery attempt. `x-service-signature` is the specification's: lowercase hex HMAC-SHA-256
 * of the raw body, keyed with the whole secret text; always the current one. The others are Standard Webhooks': base64
 * HMAC-SHA-256 over "id.timestamp.body", keyed with the secret's bytes; one for each secret that holds, the current first.
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
