import type { ReactNode } from 'react';
import { durationText } from './measures.ts';
import { numberText, plural } from './numbers.ts';
import { part } from './part.ts';
import { rich } from './rich.ts';

const deliveryCount = (count: number) => plural(count, { one: '# delivery', other: '# deliveries' });

/** Texts of the delivery log, of a delivery, and of replays. */
export const deliveryTexts = part({
  lead: 'All deliveries of all events, with their attempts.',
  list: 'Deliveries',
  loadingList: 'Loading deliveries',
  redeliverSelected: (count: number) => `Redeliver ${numberText(count)} selected`,
  redelivered: (sent: number, refused: number) =>
    `Redelivered: ${numberText(sent)}.${refused > 0 ? ` Could not be redelivered: ${numberText(refused)}.` : ''}`,
  noMatches: 'No matching deliveries',
  noMatchOnPage: 'No delivery on this page matches. Open the next page, or change the filters.',
  noneTitle: 'No deliveries yet',
  none: 'Each event of a resource is delivered to every webhook that subscribes to it. Create a webhook, then a resource.',
  event: 'Event',
  test: 'Test',
  status: 'Status',
  result: 'Result',
  attempts: 'Attempts',
  webhook: 'Webhook',
  created: 'Created',
  anyWebhook: 'Any webhook',
  eventType: 'Event type',
  anyType: 'Any type',
  testEvents: 'Test events',
  tests: { included: 'Included', excluded: 'Excluded', only: 'Only test events' },
  requestId: 'Request ID',
  resourceId: 'Resource ID',
  liveOff: 'Show new deliveries automatically',
  streaming: 'New deliveries appear immediately',
  polling: 'Polling every 2 s',
  delivery: 'Delivery',
  loading: 'Loading the delivery',
  redeliver: 'Redeliver',
  redeliveryStarted: 'Redelivery started.',
  canceled: 'Delivery canceled.',
  copyAsCurl: 'Copy as curl',
  ofTest:
    'A test event about a resource that does not exist. It does not count in success rates, and no alert is sent.',
  waits: {
    rate_limit: 'The delivery waits because of the rate limit of the webhook.',
    circuit_open: 'The delivery waits because of the open circuit of the webhook.',
    paused: 'The delivery waits because the webhook is paused.',
  },
  nextAttempt: (at: ReactNode) => rich`The next attempt is due at ${at}.`,
  nextOfWebhook: (at: ReactNode) => rich`The next attempt of the webhook is due at ${at}.`,
  nextNow: 'The next attempt is due now.',
  expired: 'The delivery reached the retention of the delivery log and is no longer retried.',
  expiredAfter: (days: number) =>
    plural(days, {
      one: 'The delivery reached the retention of # day of the delivery log and is no longer retried.',
      other: 'The delivery reached the retention of # days of the delivery log and is no longer retried.',
    }),
  details: 'Details',
  resource: 'Resource',
  request: 'Request',
  origin: 'Origin',
  origins: { test: 'test event', event: 'event', redelivery: 'redelivery' },
  replay: (id: string) => `replay ${id}`,
  endReason: 'End reason',
  trace: 'Trace',
  attempt: (number: number) => `Attempt ${number}`,
  missingAttempts: (first: number, last: number) =>
    `${first === last ? `Attempt ${first} is` : `Attempts ${first} to ${last} are`} not stored. A delivery keeps its ` +
    'first and last attempts: up to 100 attempts and 256 KiB.',
  toSend: 'Request to be sent',
  requestBody: 'Request body',
  redeliverFailed: 'Redeliver all failed',
  timeRange: 'Time range',
  rate: 'Maximum deliveries per second',
  statuses: 'Statuses',
  noneInRange: 'There are no deliveries in these statuses in this time range.',
  countFirst: 'Each delivery is attempted again, with a full set of retries. Count them first.',
  count: 'Count deliveries',
  redeliverAll: 'Redeliver all',
  redeliverCount: (count: number) => `Redeliver ${numberText(count)}`,
  estimate: (count: number, seconds: number) =>
    `${deliveryCount(count)} will be redelivered in ${durationText(seconds)}.`,
  minimum: (count: number, seconds: number) =>
    `At least ${deliveryCount(count)} will be redelivered, in at least ${durationText(seconds)}.`,
  replays: { running: 'Redelivering', done: 'Redelivered', canceled: 'Stopped' },
  progress: 'Redelivery progress',
  sent: (sent: number) => `${numberText(sent)} redelivered.`,
  sentOf: (sent: number, all: number) => `${numberText(sent)} of ${numberText(all)} redelivered.`,
  continues: 'The replay continues if you close this window.',
  seeLogs: 'See the delivery logs for the attempts.',
  stop: 'Stop',
});
