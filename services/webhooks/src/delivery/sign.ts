import { createHmac } from 'node:crypto';

/** A webhook's secret in both forms that signatures need. */
export interface SigningSecret {
  /** "whsec_…", as the owner has it. */
  readonly text: string;
  /** The bytes that the base64 after "whsec_" stands for. */
  readonly bytes: Buffer;
}

export function toSigningSecret(text: string): SigningSecret {
  return { text, bytes: Buffer.from(text.slice('whsec_'.length), 'base64') };
}

/**
 * The signature headers of one delivery attempt. `x-service-signature` is the specification's: lowercase hex HMAC-SHA-256
 * of the raw body, keyed with the whole secret text. The others are Standard Webhooks': base64 HMAC-SHA-256 over
 * "id.timestamp.body", keyed with the secret's bytes.
 */
export function signatureHeaders(secret: SigningSecret, eventId: string, body: Uint8Array, nowMs: number) {
  const timestamp = String(Math.floor(nowMs / 1000));
  const standard = createHmac('sha256', secret.bytes).update(`${eventId}.${timestamp}.`).update(body).digest('base64');
  return {
    'x-service-signature': createHmac('sha256', secret.text).update(body).digest('hex'),
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${standard}`,
  };
}
