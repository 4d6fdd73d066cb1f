import type { AlertKindName } from '../../../src/documents/alert.ts';

interface Kind {
  readonly title: string;
  readonly about: string;
  /** What the threshold is, and how many of its unit 1 is: a share is shown in percent. */
  readonly threshold?: { readonly label: string; readonly times: number };
  readonly minimum?: string;
  /** When it alerts, with the threshold as it is shown. */
  readonly when: (threshold: string) => string;
}

export const alertKinds: Readonly<Record<AlertKindName, Kind>> = {
  api_error_rate: {
    title: 'API errors',
    about: 'The share of requests that were answered 4xx or 5xx, but for 429.',
    threshold: { label: 'Above, %', times: 100 },
    minimum: 'Requests at least',
    when: (threshold) => `above ${threshold} %`,
  },
  delivery_failure_rate: {
    title: 'Webhook deliveries fail',
    about: 'The share of attempts to deliver to one webhook that failed.',
    threshold: { label: 'Above, %', times: 100 },
    minimum: 'Attempts at least',
    when: (threshold) => `above ${threshold} %`,
  },
  delivery_failures_in_a_row: {
    title: 'Webhook fails in a row',
    about: 'Attempts to deliver to one webhook that failed one after the other.',
    threshold: { label: 'Attempts', times: 1 },
    when: (threshold) => `${threshold} attempts`,
  },
  webhook_disabled: {
    title: 'Webhook disabled',
    about: 'The service disabled it: it answered 410, or failed for days.',
    when: () => 'at once',
  },
  quota: {
    title: 'Monthly quota',
    about: 'It is nearly used up; and once more when it is.',
    threshold: { label: 'Warn at, %', times: 100 },
    when: (threshold) => `at ${threshold} %, and at 100 %`,
  },
  rate_limited: {
    title: 'Rate limit',
    about: 'Requests were refused by the rate limit, again and again.',
    threshold: { label: 'Refused requests', times: 1 },
    when: (threshold) => `${threshold} refused`,
  },
  key_expiry: {
    title: 'API key expires',
    about: 'A key expires soon.',
    threshold: { label: 'Days before', times: 1 },
    when: (threshold) => `${threshold} days before`,
  },
};
