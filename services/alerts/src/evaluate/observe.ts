import { oneLine } from '../email/email.ts';
import { dayMs, type Observation } from '../incident/incident.ts';
import type { AlertKind, Rule } from '../rule/rule.ts';

/** Input of a rule evaluation. */
export interface Facts {
  /** Requests within the window of each rule. */
  readonly requests: Readonly<Record<'api_error_rate' | 'rate_limited', RequestFacts>>;
  /** Usage and quota of the current month, in requests. 0: no quota. */
  readonly month: { readonly used: number; readonly quota: number };
  readonly webhooks: readonly WebhookFacts[];
  readonly disabledWebhooks: readonly { readonly webhookId: string; readonly reason: string; readonly url: string }[];
  readonly expiringKeys: readonly ExpiringKeyFacts[];
}

/** A key that expires soon. */
interface ExpiringKeyFacts {
  readonly keyId: string;
  readonly name: string;
  readonly expiresAtMs: number;
  /** The key as the REST API returns it; null if the previous release stored it. */
  readonly document: object | null;
}

/** Counts of a tenant's requests within a rule's window. */
export interface RequestFacts {
  readonly requests: number;
  /** Responses with status 4xx or 5xx, except 429. */
  readonly errors: number;
  /** Requests rejected by the rate limit. */
  readonly rateLimited: number;
  /** Requests rejected by the rate limit or the quota. */
  readonly refused: number;
}

/** Counts and state of a webhook for the rules about deliveries. */
export interface WebhookFacts {
  readonly webhookId: string;
  /** Empty: unknown. */
  readonly url: string;
  /** Error of the last failed attempt; empty: unknown. */
  readonly lastError: string;
  /** Attempts within the rule's window. */
  readonly attempts: number;
  readonly failedAttempts: number;
  /** Consecutive failures up to now. */
  readonly failures: number;
}

/** Observation of a rule about a subject. */
export interface Found extends Observation {
  readonly kind: AlertKind;
  readonly subjectId: string;
  /** URL of the webhook or name of the key; see rms.alerts.v1.Incident. Empty for the environment or if unknown. */
  readonly object: string;
}

/** Evaluates all enabled rules. A subject without an observation is healthy or no longer exists. */
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
    const summary = `${percent(errors, counted)} of ${counted} API requests failed within ${minutes(rule)}`;
    return [found(rule, '', { bad, value: share, summary })];
  },
  delivery_failure_rate: (rule, { webhooks }) =>
    webhooks.map(({ webhookId, url, lastError, attempts, failedAttempts }) => {
      const share = attempts > 0 ? failedAttempts / attempts : 0;
      const bad = attempts >= rule.minimum && share >= rule.threshold;
      const window = minutes(rule);
      const summary = `${percent(failedAttempts, attempts)} of ${attempts} delivery attempts to the webhook failed within ${window}${lastErrorText(lastError)}`;
      return found(rule, webhookId, { object: url, bad, value: share, summary });
    }),
  delivery_failures_in_a_row: (rule, { webhooks }) =>
    webhooks.map(({ webhookId, url, lastError, failures }) => {
      const summary = `the last ${failures} delivery attempts to the webhook failed${lastErrorText(lastError)}`;
      return found(rule, webhookId, { object: url, bad: failures >= rule.threshold, value: failures, summary });
    }),
  webhook_disabled: (rule, { disabledWebhooks }) =>
    disabledWebhooks.map(({ webhookId, reason, url }) => {
      const summary = `the webhook was disabled: ${reasonText(reason)}`;
      return found(rule, webhookId, { object: url, bad: true, value: 0, summary });
    }),
  quota(rule, { month: { used, quota } }) {
    if (quota === 0) return [];
    const share = used / quota;
    const summary = `${percent(used, quota)} of this month's quota of ${quota} requests is used`;
    return [
      // The "exceeded" incident makes a new warning redundant.
      found(rule, 'warning', {
        object: 'nearly used up',
        bad: share >= rule.threshold,
        value: share,
        summary,
        keepsOnly: share >= 1,
      }),
      found(rule, 'exceeded', {
        object: 'used up',
        bad: share >= 1,
        value: share,
        threshold: 1,
        summary: `this month's quota of ${quota} requests is used up; requests are rejected until the month ends`,
      }),
    ];
  },
  rate_limited(rule, { requests }) {
    const { rateLimited } = requests.rate_limited;
    const summary = `${rateLimited} API requests were rejected by the rate limit within ${minutes(rule)}`;
    return [found(rule, '', { bad: rateLimited >= rule.threshold, value: rateLimited, summary })];
  },
  key_expiry: (rule, { expiringKeys }, nowMs) =>
    expiringKeys
      .filter(({ expiresAtMs }) => expiresAtMs > nowMs)
      .map(({ keyId, name, expiresAtMs }) => {
        const days = (expiresAtMs - nowMs) / dayMs;
        const at = `${new Date(expiresAtMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
        const summary = `the API key "${name}" expires at ${at}`;
        return found(rule, keyId, { object: name, bad: days <= rule.threshold, value: days, summary });
      }),
};

function found(
  rule: Rule,
  subjectId: string,
  observation: Omit<Observation, 'threshold'> & { threshold?: number; object?: string },
): Found {
  return { kind: rule.kind, subjectId, object: '', threshold: rule.threshold, ...observation };
}

/** Returns the cause of failed attempts, in one line. */
function lastErrorText(error: string): string {
  return error === '' ? '' : `; last error: ${oneLine(error, 200)}`;
}

/** Rounds down, so that 100% means all. */
function percent(part: number, all: number): string {
  return `${all > 0 ? Math.floor((part * 1000) / all) / 10 : 0}%`;
}

function minutes({ windowSeconds }: Rule): string {
  const count = windowSeconds / 60;
  return count === 1 ? '1 minute' : `${count} minutes`;
}

function reasonText(reason: string): string {
  if (reason === 'gone') return 'its endpoint responded with 410 Gone';
  if (reason === 'failing') return 'all delivery attempts failed for a long time';
  return reason;
}
