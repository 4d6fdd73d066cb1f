import { type SigningSecrets, signatureHeaders } from './signature.ts';

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
