import type { Observation } from '../incident/incident.ts';
import type { AlertKind, Rule } from '../rule/rule.ts';

/** What is known of a tenant when its rules are looked at. */
export interface Facts {
  /** Requests within the window of each rule about them. */
  readonly requests: Readonly<Record<'api_error_rate' | 'rate_limited', RequestFacts>>;
  readonly month: { readonly used: number /** 0: none. */; readonly quota: number };
  readonly webhooks: readonly WebhookFacts[];
  readonly disabledWebhooks: readonly { readonly webhookId: string; readonly reason: string }[];
  readonly expiringKeys: readonly { readonly keyId: string; readonly name: string; readonly expiresAtMs: number }[];
}

export interface RequestFacts {
  readonly requests: number;
  /** Answered 4xx or 5xx, but for 429. */
  readonly errors: number;
  /** Refused by the rate limit. */
  readonly rateLimited: number;
  /** Refused by either limit. */
  readonly refused: number;
}

export interface WebhookFacts {
  readonly webhookId: string;
  /** Within the window of the rule. */
  readonly attempts: number;
  readonly failedAttempts: number;
  /** In a row, up to now. */
  readonly failures: number;
}

/** What one rule finds about one subject. */
export interface Found extends Observation {
  readonly kind: AlertKind;
  readonly subjectId: string;
}

const dayMs = 24 * 3_600_000;

/** What the rules find now. A subject that nothing is said of is well, or is gone. */
export function observe(rules: readonly Rule[], facts: Facts, nowMs: number): Found[] {
  return rules.filter(({ enabled }) => enabled).flatMap((rule) => finders[rule.kind](rule, facts, nowMs));
}

type Finder = (rule: Rule, facts: Facts, nowMs: number) => Found[];

const finders: Readonly<Record<AlertKind, Finder>> = {
  api_error_rate(rule, { requests }) {
    const { requests: all, errors, refused } = requests.api_error_rate;
    const counted = all - refused;
    const share = counted > 0 ? errors / counted : 0;
    const bad = counted >= rule.minimum && share >= rule.threshold;
    const summary = `${percent(share)} of ${counted} API requests failed within ${minutes(rule)}`;
    return [found(rule, '', { bad, value: share, summary })];
  },
  delivery_failure_rate: (rule, { webhooks }) =>
    webhooks.map(({ webhookId, attempts, failedAttempts }) => {
      const share = attempts > 0 ? failedAttempts / attempts : 0;
      const bad = attempts >= rule.minimum && share >= rule.threshold;
      const summary = `${percent(share)} of ${attempts} attempts to deliver to the webhook failed within ${minutes(rule)}`;
      return found(rule, webhookId, { bad, value: share, summary });
    }),
  delivery_failures_in_a_row: (rule, { webhooks }) =>
    webhooks.map(({ webhookId, failures }) => {
      const summary = `the last ${failures} attempts to deliver to the webhook failed`;
      return found(rule, webhookId, { bad: failures >= rule.threshold, value: failures, summary });
    }),
  webhook_disabled: (rule, { disabledWebhooks }) =>
    disabledWebhooks.map(({ webhookId, reason }) =>
      found(rule, webhookId, { bad: true, value: 0, summary: `the webhook was disabled: ${reasonText(reason)}` }),
    ),
  quota(rule, { month: { used, quota } }) {
    if (quota === 0) return [];
    const share = used / quota;
    const summary = `${percent(share)} of the ${quota} requests of this month are used`;
    return [
      // Who is told that the quota is used up need not be warned of it as well.
      found(rule, 'warning', { bad: share >= rule.threshold, value: share, summary, keepsOnly: share >= 1 }),
      found(rule, 'exceeded', {
        bad: share >= 1,
        value: share,
        threshold: 1,
        summary: `all ${quota} requests of this month are used; further ones are refused until the month ends`,
      }),
    ];
  },
  rate_limited(rule, { requests }) {
    const { rateLimited } = requests.rate_limited;
    const summary = `${rateLimited} API requests were refused by the rate limit within ${minutes(rule)}`;
    return [found(rule, '', { bad: rateLimited >= rule.threshold, value: rateLimited, summary })];
  },
  key_expiry: (rule, { expiringKeys }, nowMs) =>
    expiringKeys
      .filter(({ expiresAtMs }) => expiresAtMs > nowMs)
      .map(({ keyId, name, expiresAtMs }) => {
        const days = (expiresAtMs - nowMs) / dayMs;
        const at = `${new Date(expiresAtMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
        const summary = `the API key "${name}" expires at ${at}`;
        return found(rule, keyId, { bad: days <= rule.threshold, value: days, summary });
      }),
};

function found(
  rule: Rule,
  subjectId: string,
  observation: Omit<Observation, 'threshold'> & { threshold?: number },
): Found {
  return { kind: rule.kind, subjectId, threshold: rule.threshold, ...observation };
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(1))} %`;
}

function minutes({ windowSeconds }: Rule): string {
  const count = windowSeconds / 60;
  return count === 1 ? '1 minute' : `${count} minutes`;
}

function reasonText(reason: string): string {
  if (reason === 'gone') return 'its endpoint answered 410 Gone';
  if (reason === 'failing') return 'all attempts had failed for a long time';
  return reason;
}
