import type { EventType } from '@rms/base/webhook-events';
import type { FilterOperator } from '@rms/base/webhook-filter';
import type { ReactNode } from 'react';
import { durationText } from './measures.ts';
import { numberText, plural } from './numbers.ts';
import { part } from './part.ts';
import { rich } from './rich.ts';

const eventDescriptions: Readonly<Record<EventType, string>> = {
  'resource.created': 'A resource was created',
  'resource.updated': 'Name, status or metadata changed',
  'resource.status_changed': 'The status changed; sent in addition to resource.updated',
  'resource.deleted': 'A resource was deleted',
  'webhook.disabled': 'Another webhook was disabled, by a user or the service',
  'webhook.enabled': 'Another webhook was enabled',
  'webhook.failing': 'The endpoint of another webhook fails',
  'webhook.recovered': 'The endpoint of another webhook succeeds again',
  'delivery.failed': 'A delivery of another webhook has used up its retries',
  'api_key.created': 'An API key was created',
  'api_key.rolled': 'An API key was replaced by a new one',
  'api_key.revoked': 'An API key was revoked',
  'api_key.expiring': 'An API key expires soon',
  'quota.warning': 'The monthly quota is nearly used up',
  'quota.exceeded': 'The monthly quota is used up',
};

const operators: Readonly<Record<FilterOperator, string>> = {
  eq: 'is',
  ne: 'is not',
  in: 'is one of',
  not_in: 'is none of',
  prefix: 'begins with',
  exists: 'exists',
  not_exists: 'does not exist',
};

/** Names of the error classes of failed attempts. */
const errors: Readonly<Record<string, string>> = {
  '2xx': 'status 2xx; only 200 counts as delivered',
  timeout: 'timeout',
  blocked: 'address not allowed',
  connect: 'could not connect',
  proxy: 'egress proxy',
  dns: 'DNS lookup failed',
  tls: 'TLS',
  connection: 'connection lost',
};

/** Texts of the webhook list, of a webhook, and of its forms. */
export const webhookTexts = part({
  lead: 'Endpoints that receive the events of your resources.',
  loadingList: 'Loading webhooks',
  create: 'Create webhook',
  url: 'URL',
  statuses: { active: 'Active', paused: 'Paused', disabled: 'Disabled' },
  healths: { healthy: 'Healthy', failing: 'Failing', paused: 'Paused', disabled: 'Disabled' },
  anyStatus: 'Any status',
  anyHealth: 'Any health',
  noMatches: 'No matching webhooks',
  noMatchOnPage: 'No webhook on this page matches. Open the next page, or change the filters.',
  noneTitle: 'No webhooks yet',
  none: 'Create one with the URL of your endpoint. Deliveries are signed, retried and logged.',
  endpoint: 'Endpoint',
  events: 'Events',
  allEvents: 'all events',
  status: 'Status',
  health: 'Health',
  created: 'Created',

  webhook: 'Webhook',
  loading: 'Loading the webhook',
  unchanged: 'The webhook was not changed.',
  changed: {
    active: 'The webhook is active.',
    paused: 'The webhook is paused.',
    disabled: 'The webhook is disabled.',
  },
  deleted: 'Webhook deleted.',
  deliveries: 'Deliveries',
  edit: 'Edit',
  pause: 'Pause',
  resume: 'Resume',
  enable: 'Enable',
  disable: 'Disable',
  delete: 'Delete',
  paused: 'This webhook is paused: deliveries of new events are queued, and none is sent until you resume it.',
  disabled: (reason: string) =>
    `This webhook is disabled: ${reason}. New events are recorded as skipped and can be redelivered after you enable it.`,
  reasons: {
    manual: 'it was disabled manually',
    gone: 'its endpoint responded with 410 Gone',
    failing: 'no delivery succeeded for too long',
    failingFor: (seconds: number) => `no delivery succeeded for ${durationText(seconds)}`,
  },
  testInLog: 'Test event in the delivery log',
  details: 'Details',
  updated: 'Updated',
  id: 'ID',
  ordered: { yes: 'yes, per resource', no: 'no' },
  configured: 'configured',
  clientCertificate: 'Client certificate',
  timeout: 'Timeout',
  secretHeader: (name: string) => `${name} (secret)`,
  secret: 'Signing secret',
  secretAbout: 'Signs every delivery. It cannot be shown again.',
  previousSecret: (until: ReactNode) => rich`The previous secret also signs until ${until}.`,
  disableTitle: (host: string) => `Disable webhook ${host}?`,
  disableWebhook: 'Disable webhook',
  disableEffect: 'New events are recorded as skipped. After you enable the webhook again, you can redeliver both.',
  pauseInstead: 'Pause the webhook instead to keep its pending deliveries.',
  deleteTitle: (host: string) => `Delete webhook ${host}?`,
  deleteWebhook: 'Delete webhook',
  deleteEffect: 'The delivery log is kept, but its deliveries cannot be redelivered.',
  nonePending: 'No deliveries are pending.',
  pendingFail: (count: number) =>
    plural(count, {
      one: '# pending delivery fails immediately.',
      other: '# pending deliveries fail immediately.',
    }),
  pendingFailOrMore: (count: number) => `${numberText(count)} or more pending deliveries fail immediately.`,

  healthAbout: 'Attempts and ended deliveries, including redeliveries but not test events.',
  viewFailed: 'View failed',
  orMore: (count: number) => `${numberText(count)} or more`,
  circuitOpen: (since: ReactNode, pending: string) =>
    rich`The circuit has been open since ${since}. After many consecutive failures, the service sends only occasional probes. Pending deliveries: ${pending}. They keep their retries.`,
  nextProbe: (at: ReactNode) => rich`The next probe is due at about ${at}.`,
  probeOnEvent: 'The next event triggers a probe.',
  failingSince: (since: ReactNode, pending: string) =>
    rich`No delivery has succeeded since ${since}. The circuit is closed. Pending deliveries: ${pending}.`,
  circuitClosed: (pending: string) => `The circuit is closed. Pending deliveries: ${pending}.`,
  rateLimited: (at: ReactNode) =>
    rich`Deliveries wait because of the rate limit of the webhook. The next attempt is due at ${at}.`,
  windows: 'Attempts and deliveries',
  timeRange: 'Time range',
  successful: 'Successful attempts',
  p50: 'p50',
  p95: 'p95',
  delivered: 'Delivered',
  retried: 'Retried',
  failed: 'Failed',
  canceled: 'Canceled',
  errorColumn: 'Errors',
  errors,
  noAttempts: 'no attempts in the last hour',
  lastHour: (rate: string, p95: string) => `${rate} · p95 ${p95}`,
  circuitIsOpen: 'Circuit open',
  failing: 'Failing',
  successRate: (share: string, attempts: number) =>
    `${share} of ${plural(attempts, { one: '# attempt', other: '# attempts' })}`,

  test: 'Send test event',
  testEvent: 'Test event',
  testEffect:
    'The endpoint gets one signed request, also if the webhook is disabled. It is not retried, and does not count in ' +
    'success rates or alerts.',
  eventType: 'Event type',
  testBody: 'Body, with other IDs',

  rotate: 'Rotate secret',
  rotateTitle: 'Rotate signing secret',
  rotateEffect:
    'X-Service-Signature uses the new secret immediately. During the overlap, webhook-signature contains one signature ' +
    'per secret, so that endpoints that check it can switch without failures.',
  overlap: 'Overlap',
  overlaps: { none: 'None', hour: '1 hour', day: '1 day', week: '1 week' },
  copySecret: 'Copy secret',
  secretOnce: 'Copy the secret now. It is shown only once. If you lose it, rotate the secret.',
  secretUse: 'Use it to verify the signature of each delivery:',
  secretSaved: 'I have saved it',
  verificationCode: 'Verification code',
  samples: {
    request: (tool: string) => `Signed test request with ${tool}`,
    verification: (language: string) => `Verification in ${language}`,
    receiver: (framework: string) => `Receiver in ${framework}`,
  },

  retryPolicy: 'Retry policy',
  retryPolicyAbout: 'Schedule of retries after a failed delivery attempt.',
  savePolicy: 'Save policy',
  policySaved: 'Retry policy saved.',
  delayType: 'Delay type',
  delayTypes: { increasing: 'Increasing', custom: 'Custom' },
  delays: 'Delays in seconds',
  delaysHint: (most: number) =>
    `One per retry, separated by commas: up to ${numberText(most)}, each from 0.01 to 604,800 (7 days).`,
  retries: 'Retries',
  retriesHint: (most: number) => `Up to ${numberText(most)}.`,
  firstDelay: 'First delay in seconds',
  maxDelay: 'Maximum delay in seconds',
  maxDelayHint: 'Up to 604,800, which is 7 days.',
  oneAttempt: 'One attempt, no retry.',
  schedule: (attempts: number, seconds: number, delays: readonly number[]) =>
    `${numberText(attempts)} attempts within ${durationText(seconds)}, with delays of ${delays.map(durationText).join(', ')}.`,
  now: 'now',

  editTitle: 'Edit webhook',
  save: 'Save',
  saved: 'Webhook updated.',
  webhookLimit: (most: number) =>
    `A workspace can have up to ${numberText(most)} webhooks in both environments together.`,
  endpointUrl: 'Endpoint URL',
  publicUrl: { https: 'A public HTTPS URL.', http: 'A public HTTP or HTTPS URL.' },
  permittedUrl: {
    https: 'An HTTPS URL that is public or in a network that this installation permits.',
    http: 'An HTTP or HTTPS URL that is public or in a network that this installation permits.',
  },
  urlResponse: 'It must respond with status 200 within 10 seconds, or the timeout of the webhook.',
  createDisabled: 'Create disabled',
  createDisabledHint: 'Events are skipped until you enable the webhook.',
  description: 'Description',
  resourceEvents: 'Resource events',
  allResourceEvents: 'All resource events',
  allResourceEventsHint: 'Includes types added in the future, and no operational events',
  operationalEvents: 'Operational events',
  eventDescriptions,
  filter: 'Filter',
  filterKind: 'Deliver events',
  filterHint: 'Events that do not match make no delivery.',
  filterKinds: {
    none: 'all of these types',
    all: 'that meet all conditions',
    any: 'that meet any condition',
    json: 'that match a filter in JSON',
  },
  filterJson: 'Filter in JSON',
  filterJsonHint: 'A group with all or any. Its elements are groups or conditions with field, op and value.',
  condition: {
    field: (number: number) => `Condition ${number}: field`,
    operator: (number: number) => `Condition ${number}: operator`,
    values: (number: number) => `Condition ${number}: values`,
    value: (number: number) => `Condition ${number}: value`,
    remove: (number: number) => `Remove condition ${number}`,
  },
  operators,
  fieldHint: 'name, status, input_type, metadata.KEY or previous_attributes.FIELD',
  valuesHint: 'One per line.',
  addCondition: 'Add condition',
  orderedDelivery: 'Ordered delivery',
  orderedHint:
    'Delivers the events of a resource one at a time, in order. A failing delivery delays later events of that resource.',
  rateLimit: 'Rate limit',
  rateLimitOf: (concurrency: number, perSecond: number | null) => {
    const attempts = plural(concurrency, { one: '# concurrent attempt', other: '# concurrent attempts' });
    return perSecond === null ? attempts : `${attempts}, ${numberText(perSecond)} per second`;
  },
  concurrency: 'Maximum concurrent attempts',
  concurrencyHint: 'Requests in progress at the endpoint at the same time, from 1 to 1,000.',
  perSecond: 'Maximum attempts per second',
  perSecondHint: 'Fractions are allowed. Leave empty for no limit.',
  timeoutInSeconds: 'Timeout in seconds',
  timeoutHint: 'Within this time, the complete response must arrive: 1 to 30.',
  alias: 'Second signature header',
  aliasHint: 'One more header with the value of X-Service-Signature. Leave empty for none.',
  headers: 'Custom headers',
  header: {
    name: (number: number) => `Header ${number}: name`,
    value: (number: number) => `Header ${number}: value`,
    isSecret: (number: number) => `Header ${number} is secret`,
    remove: (number: number) => `Remove header ${number}`,
  },
  headerUnchanged: 'unchanged',
  addHeader: 'Add header',
  headersHint:
    'Sent with every request. Secret values are stored encrypted and cannot be shown again. Names that the service sets ' +
    'are refused.',
});
