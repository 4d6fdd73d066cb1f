import type { LimitsDocument } from '../../../../src/documents/limits.ts';
import { countText } from '../../ui/count.ts';
import { durationText } from '../../ui/duration.ts';

/*
 * Texts about rules that settings and plans change. All of them derive from the limits document. Until it has loaded,
 * they omit the rule.
 */

type Limits<Field extends keyof LimitsDocument> = Pick<LimitsDocument, Field> | undefined;

const daySeconds = 86_400;

/** Names of common windows, by seconds. */
const windowNames: Readonly<Record<number, string>> = { 1: 'second', 60: 'minute', 3600: 'hour', [daySeconds]: 'day' };

/** Formats a number of days: "1 day", "30 days". */
export function daysText(days: number): string {
  return countText(days, 'day', 'days');
}

/** Formats a rate: "6,000 per minute", "6,000 per 1 min 30 s"; "no limit" for null. */
export function rateText(requests: number | null, windowSeconds: number): string {
  if (requests === null) return 'no limit';
  return `${requests.toLocaleString()} per ${windowNames[windowSeconds] ?? durationText(windowSeconds)}`;
}

/** Formats a maximum number of objects: "at most 100"; "no limit" for 0. */
export function maximumText(most: number): string {
  return most === 0 ? 'no limit' : `at most ${most.toLocaleString()}`;
}

/** Hint for a webhook's URL. */
export function webhookUrlHint(limits: Limits<'webhook_urls'>): string {
  const response = 'It must respond with status 200 within 10 seconds, or the timeout of the webhook.';
  if (!limits) return response;
  const { http, private_networks: hasPrivate } = limits.webhook_urls;
  const kind = http ? 'HTTP or HTTPS URL' : 'HTTPS URL';
  if (!hasPrivate) return `A public ${kind}. ${response}`;
  return `An ${kind} that is public or in a network that this installation permits. ${response}`;
}

type KeyLimits = Limits<'plan' | 'limits'>;

function sourceOf({ plan }: Pick<LimitsDocument, 'plan'>): string {
  return plan === null ? 'this installation' : `plan ${plan}`;
}

/** Formats the rate limit of a key per window. `own`: null without an own limit. */
export function keyLimitText(own: number | null, limits: KeyLimits): string {
  if (own !== null) return own.toLocaleString();
  if (!limits) return 'limit of the workspace';
  const { requests_per_window: requests } = limits.limits;
  return requests === null ? 'no limit' : `${requests.toLocaleString()}, the limit of ${sourceOf(limits)}`;
}

/** Hint for the rate limit of a key. */
export function keyLimitHint(limits: KeyLimits): string {
  if (!limits) return 'Leave empty for the limit of the workspace.';
  const { requests_per_window: requests, window_seconds: seconds } = limits.limits;
  const window = `A window is ${durationText(seconds)}.`;
  if (requests === null) return `${window} Leave empty for no limit.`;
  return `${window} Leave empty for the limit of ${sourceOf(limits)}, ${requests.toLocaleString()}. A key cannot exceed it.`;
}

/** Sentence about the maximum number of webhooks. Empty without a limit. */
export function webhookCountText(limits: Limits<'max_webhooks'>): string {
  const most = limits?.max_webhooks ?? 0;
  return most === 0
    ? ''
    : `A workspace can have up to ${most.toLocaleString()} webhooks in both environments together.`;
}

/** Sentence about the maximum number of keys. Empty without a limit. */
export function keyCountText(limits: Limits<'max_keys'>): string {
  const most = limits?.max_keys ?? 0;
  return most === 0 ? '' : `A workspace can have up to ${most.toLocaleString()} valid keys.`;
}

/** Sentence about the maximum numbers of members and invitations. Empty without a limit. */
export function memberCountText(limits: Limits<'max_members' | 'max_invitations'>): string {
  const { max_members: members = 0, max_invitations: invitations = 0 } = limits ?? {};
  const parts = [
    ...(members === 0 ? [] : [`${members.toLocaleString()} members`]),
    ...(invitations === 0 ? [] : [`${invitations.toLocaleString()} open invitations`]),
  ];
  return parts.length === 0 ? '' : `A workspace can have up to ${parts.join(' and ')}.`;
}

/** Clause about a webhook that was disabled because its endpoint failed. */
export function failingText(limits: Limits<'webhook_disable_after_hours'>): string {
  const hours = limits?.webhook_disable_after_hours ?? 0;
  return hours === 0
    ? 'no delivery succeeded for too long'
    : `no delivery succeeded for ${durationText(hours * 3_600)}`;
}

/** Note about a delivery that ended because of the retention. */
export function expiredText(limits: Limits<'delivery_log_days'>): string {
  const kept = limits ? ` of ${daysText(limits.delivery_log_days)}` : '';
  return `The delivery reached the retention${kept} of the delivery log and is no longer retried.`;
}

/** Formats which requests are recorded, and for how long. */
export function requestLogText({ request_log: log, request_log_days: days }: LimitsDocument): string {
  if (log === 'none') return 'none';
  return log === 'writes' ? `${daysText(days)}, only writes and failed reads` : daysText(days);
}

/** Text for a request without a record. */
export function unknownRequestText(limits: Limits<'request_log' | 'request_log_days'>): string {
  if (limits?.request_log === 'none') {
    return 'This installation does not record requests. Only requests that caused events have a timeline.';
  }
  const age = limits ? daysText(limits.request_log_days) : 'the retention period';
  const read = limits?.request_log === 'writes' ? 'was a successful read, ' : '';
  return `It was sent to the other environment, had no valid key of this workspace, ${read}or is older than ${age}.`;
}

/** Time ranges within the delivery log's retention, as options with a number of seconds. */
export function logRanges(limits: Limits<'delivery_log_days'>): [seconds: string, text: string][] {
  const days = limits?.delivery_log_days ?? 7;
  const ranges: [number, string][] = [
    [3_600, 'Last hour'],
    [daySeconds, 'Last 24 hours'],
    [7 * daySeconds, 'Last 7 days'],
    [30 * daySeconds, 'Last 30 days'],
  ];
  const within = ranges.filter(([seconds]) => seconds <= days * daySeconds);
  if (!within.some(([seconds]) => seconds === days * daySeconds)) {
    within.push([days * daySeconds, `Last ${daysText(days)}`]);
  }
  return within.map(([seconds, text]) => [String(seconds), text]);
}
