/** Kinds of alerts, in display order. */
export const alertKinds = [
  'api_error_rate',
  'delivery_failure_rate',
  'delivery_failures_in_a_row',
  'webhook_disabled',
  'quota',
  'rate_limited',
  'key_expiry',
] as const;

export type AlertKind = (typeof alertKinds)[number];

/** Severities of incidents, the least severe first. */
export const severities = ['warning', 'error', 'critical'] as const;

type Severity = (typeof severities)[number];

const severityOfKind: Readonly<Record<AlertKind, Severity>> = {
  api_error_rate: 'error',
  delivery_failure_rate: 'error',
  delivery_failures_in_a_row: 'error',
  webhook_disabled: 'critical',
  quota: 'warning',
  rate_limited: 'warning',
  key_expiry: 'warning',
};

/** Returns the severity of an incident. `subjectId` distinguishes an exceeded quota from a warning. */
export function severityOf(kind: AlertKind, subjectId: string): Severity {
  return kind === 'quota' && subjectId === 'exceeded' ? 'critical' : severityOfKind[kind];
}

/** Texts of an alert rule, the same in emails, in the dashboard and in `rms alerts`. */
export interface AlertRule {
  readonly name: string;
  /** Explains the condition, as a complete sentence. */
  readonly sentence: string;
  /** Prefix of the subject of incident emails. Unique per kind. */
  readonly subject: string;
  /** Threshold field. `times` converts the stored value to the displayed unit, e.g. 100 for percent. */
  readonly threshold?: { readonly label: string; readonly times: number };
  /** Label of the field for the minimum number of requests or attempts. */
  readonly minimum?: string;
  /** Describes the condition for a displayed threshold. */
  readonly when: (threshold: string) => string;
}

export const alertRules: Readonly<Record<AlertKind, AlertRule>> = {
  api_error_rate: {
    name: 'API errors',
    sentence: 'Share of requests with a 4xx or 5xx response, except 429.',
    subject: 'API requests fail',
    threshold: { label: 'Threshold, %', times: 100 },
    minimum: 'Minimum requests',
    when: (threshold) => `above ${threshold} %`,
  },
  delivery_failure_rate: {
    name: 'Webhook delivery failures',
    sentence: 'Share of failed delivery attempts of a webhook.',
    subject: 'Many delivery attempts fail',
    threshold: { label: 'Threshold, %', times: 100 },
    minimum: 'Minimum attempts',
    when: (threshold) => `above ${threshold} %`,
  },
  delivery_failures_in_a_row: {
    name: 'Consecutive webhook failures',
    sentence: 'Consecutive failed delivery attempts of a webhook.',
    subject: 'Consecutive delivery attempts failed',
    threshold: { label: 'Failed attempts', times: 1 },
    when: (threshold) => `${threshold} attempts`,
  },
  webhook_disabled: {
    name: 'Webhook disabled',
    sentence: 'The service disabled a webhook because its endpoint responded with 410 or failed for days.',
    subject: 'Webhook disabled',
    when: () => 'immediately',
  },
  quota: {
    name: 'Monthly quota',
    sentence: 'The monthly quota is nearly or completely used up.',
    subject: 'Monthly quota',
    threshold: { label: 'Warning threshold, %', times: 100 },
    when: (threshold) => `at ${threshold} %, and at 100 %`,
  },
  rate_limited: {
    name: 'Rate limit',
    sentence: 'The rate limit rejects requests repeatedly.',
    subject: 'The rate limit rejects requests',
    threshold: { label: 'Rejected requests', times: 1 },
    when: (threshold) => `${threshold} rejected requests`,
  },
  key_expiry: {
    name: 'API key expiry',
    sentence: 'An API key expires soon.',
    subject: 'API key expires soon',
    threshold: { label: 'Days before expiry', times: 1 },
    when: (threshold) => `${threshold} days before expiry`,
  },
};
