import { part } from './part.ts';

/** Texts about attempts, and about the status of deliveries. */
export const attemptTexts = part({
  statuses: {
    pending: 'Pending',
    retrying: 'Retrying',
    delivered: 'Delivered',
    failed: 'Failed',
    skipped: 'Skipped',
    canceled: 'Canceled',
  },
  anyStatus: 'Any status',
  failing: 'Failed or retrying',
  delays: { rate_limit: 'rate limit', circuit_open: 'open circuit', paused: 'paused' },
  ends: {
    retries_exhausted: 'no retries left',
    endpoint_gone: 'endpoint gone (410)',
    webhook_disabled: 'webhook disabled',
    webhook_deleted: 'webhook deleted',
    expired: 'retention reached',
    event_erased: 'event erased',
    canceled: 'canceled by a user or a key',
  },
  noAttempt: 'no attempt yet',
  started: 'Started',
  duration: 'Duration',
  address: 'IP address',
  notConnected: 'not connected',
  result: 'Result',
  delivered: 'delivered',
  notDelivered: 'not 200',
  request: 'Request',
  response: 'Response',
  notHttp: 'not HTTP',
  base64: (body: string) => `(base64) ${body}`,
  phases: { dns: 'DNS', connect: 'connection', tls: 'TLS', wait: 'first byte', read: 'response body' },
});
