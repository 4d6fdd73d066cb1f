import { type SigningSecrets, signatureHeaders } from './signature.ts';

/** What a delivery carries. */
export interface DeliveryContent {
  readonly eventId: string;
  /** Of the request that caused the event. */
  readonly requestId: string;
  /** W3C Trace Context; empty: none. */
  readonly traceparent: string;
  readonly body: Uint8Array;
}

const userAgent = 'rms-webhooks/0.1';

/** All headers of one delivery attempt but those of HTTP itself. */
export function deliveryHeaders(
  secrets: SigningSecrets,
  { eventId, requestId, traceparent, body }: DeliveryContent,
  nowMs: number,
): Readonly<Record<string, string>> {
  return {
    'content-type': 'application/json',
    'user-agent': userAgent,
    'x-request-id': requestId,
    ...signatureHeaders(secrets, eventId, body, nowMs),
    ...(traceparent ? { traceparent } : {}),
  };
}
