import { type AlertKind, alertKinds } from '@rms/base/alert-rules';
import type { FieldViolation } from '@rms/base/errors';
import type { Tenant } from '@rms/base/tenant';

export { type AlertKind, alertKinds };

/** An alert rule: its condition and its recipients; see rms.alerts.v1.Rule. */
export interface Rule extends Tenant {
  readonly kind: AlertKind;
  readonly enabled: boolean;
  readonly threshold: number;
  /** 0 if the kind has no window. */
  readonly windowSeconds: number;
  readonly minimum: number;
  readonly recipients: readonly string[];
  readonly toOwners: boolean;
  /** IDs of the channels that also report the incidents. */
  readonly channels: readonly string[];
  /** Increases with every change; 0 if the rule has the defaults. */
  readonly version: number;
  /** undefined if the rule has the defaults. */
  readonly updatedAt: Date | undefined;
}

type Measures = Pick<Rule, 'threshold' | 'windowSeconds' | 'minimum'>;

const defaults: Readonly<Record<AlertKind, Measures>> = {
  api_error_rate: { threshold: 0.1, windowSeconds: 300, minimum: 50 },
  delivery_failure_rate: { threshold: 0.5, windowSeconds: 600, minimum: 20 },
  delivery_failures_in_a_row: { threshold: 3, windowSeconds: 0, minimum: 0 },
  webhook_disabled: { threshold: 0, windowSeconds: 0, minimum: 0 },
  quota: { threshold: 0.8, windowSeconds: 0, minimum: 0 },
  rate_limited: { threshold: 50, windowSeconds: 900, minimum: 0 },
  key_expiry: { threshold: 7, windowSeconds: 0, minimum: 0 },
};

/** Valid thresholds: minimum, maximum, and whether only integers are allowed. */
const thresholds: Readonly<Record<AlertKind, { least: number; most: number; whole: boolean }>> = {
  api_error_rate: { least: 0.001, most: 1, whole: false },
  delivery_failure_rate: { least: 0.001, most: 1, whole: false },
  delivery_failures_in_a_row: { least: 1, most: 10_000, whole: true },
  webhook_disabled: { least: 0, most: 0, whole: true },
  quota: { least: 0.01, most: 1, whole: false },
  rate_limited: { least: 1, most: 1_000_000, whole: true },
  key_expiry: { least: 1, most: 90, whole: true },
};

const maxWindowSeconds = 24 * 3_600;
const maxRecipients = 20;
const maxChannels = 10;

/** Returns the default rule: enabled, with the owners as recipients. */
function defaultRule(tenant: Tenant, kind: AlertKind): Rule {
  const { workspaceId, environment } = tenant;
  return {
    workspaceId,
    environment,
    kind,
    enabled: true,
    ...defaults[kind],
    recipients: [],
    toOwners: true,
    channels: [],
    version: 0,
    updatedAt: undefined,
  };
}

/** Returns all rules of a tenant: the stored ones, and defaults for the rest. */
export function withDefaults(tenant: Tenant, stored: readonly Rule[]): Rule[] {
  return alertKinds.map((kind) => stored.find((rule) => rule.kind === kind) ?? defaultRule(tenant, kind));
}

/** Returns the rule of a kind, from the result of {@link withDefaults}. */
export function ruleOf(rules: readonly Rule[], kind: AlertKind): Rule {
  return rules.find((rule) => rule.kind === kind) as Rule;
}

/** Validates a rule. Returns an empty list if it is valid. */
export function checkRule(rule: Rule): FieldViolation[] {
  const details: FieldViolation[] = [];
  const { least, most, whole } = thresholds[rule.kind];
  const inRange = rule.threshold >= least && rule.threshold <= most;
  if (!inRange || (whole && !Number.isInteger(rule.threshold))) {
    details.push({ field: 'threshold', message: `must be ${whole ? 'a whole number ' : ''}from ${least} to ${most}` });
  }
  const hasWindow = defaults[rule.kind].windowSeconds > 0;
  const wholeMinutes = rule.windowSeconds >= 60 && rule.windowSeconds % 60 === 0;
  if (hasWindow && (!wholeMinutes || rule.windowSeconds > maxWindowSeconds)) {
    details.push({ field: 'window', message: 'must be whole minutes, from 1 minute to 24 hours' });
  }
  if (!hasWindow && rule.windowSeconds !== 0)
    details.push({ field: 'window', message: 'is not supported by this rule' });
  const hasMinimum = defaults[rule.kind].minimum > 0;
  if (hasMinimum ? rule.minimum < 1 || rule.minimum > 1_000_000 : rule.minimum !== 0) {
    details.push({
      field: 'minimum',
      message: hasMinimum ? 'must be 1 to 1,000,000' : 'is not supported by this rule',
    });
  }
  if (rule.recipients.length > maxRecipients) {
    details.push({ field: 'recipients', message: `must have at most ${maxRecipients} addresses` });
  }
  if (rule.channels.length > maxChannels) {
    details.push({ field: 'channels', message: `must have at most ${maxChannels} channels` });
  }
  for (const address of rule.recipients) {
    if (!isEmailAddress(address))
      details.push({ field: 'recipients', message: `"${printable(address)}" is not an email address` });
  }
  return details;
}

/**
 * Returns whether the text is a single address according to RFC 5321, without quotes, comments, brackets, names or
 * non-ASCII characters. Such an address is safe in headers and SMTP commands without escaping.
 */
export function isEmailAddress(text: string): boolean {
  const [, local = '', domain = ''] = /^([^@]{1,64})@([^@]{1,253})$/.exec(text) ?? [];
  return (
    /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/.test(local) &&
    /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/.test(domain)
  );
}

function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 80);
}
