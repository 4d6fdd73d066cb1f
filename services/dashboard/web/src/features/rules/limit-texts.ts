import type { LimitsDocument } from '../../../../src/documents/limits.ts';
import { durationText } from '../../texts/measures.ts';
import { numberText, plural } from '../../texts/numbers.ts';

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
  return plural(days, { one: '# day', other: '# days' });
}

/** Formats a rate: "6,000 per minute", "6,000 per 1 min 30 s"; "no limit" for null. */
export function rateText(requests: number | null, windowSeconds: number): string {
  if (requests === null) return 'no limit';
  return `${numberText(requests)} per ${windowNames[windowSeconds] ?? durationText(windowSeconds)}`;
}

/** Formats a maximum number of objects: "at most 100"; "no limit" for 0. */
export function maximumText(most: number): string {
  return most === 0 ? 'no limit' : `at most ${numberText(most)}`;
}

type KeyLimits = Limits<'plan' | 'limits'>;

function sourceOf({ plan }: Pick<LimitsDocument, 'plan'>): string {
  return plan === null ? 'this installation' : `plan ${plan}`;
}

/** Formats the rate limit of a key per window. `own`: null without an own limit. */
export function keyLimitText(own: number | null, limits: KeyLimits): string {
  if (own !== null) return numberText(own);
  if (!limits) return 'limit of the workspace';
  const { requests_per_window: requests } = limits.limits;
  return requests === null ? 'no limit' : `${numberText(requests)}, the limit of ${sourceOf(limits)}`;
}

/** Hint for the rate limit of a key. */
export function keyLimitHint(limits: KeyLimits): string {
  if (!limits) return 'Leave empty for the limit of the workspace.';
  const { requests_per_window: requests, window_seconds: seconds } = limits.limits;
  const window = `A window is ${durationText(seconds)}.`;
  if (requests === null) return `${window} Leave empty for no limit.`;
  return `${window} Leave empty for the limit of ${sourceOf(limits)}, ${numberText(requests)}. A key cannot exceed it.`;
}

/** Sentence about the maximum number of keys. Empty without a limit. */
export function keyCountText(limits: Limits<'max_keys'>): string {
  const most = limits?.max_keys ?? 0;
  return most === 0 ? '' : `A workspace can have up to ${numberText(most)} valid keys.`;
}

/** Sentence about the maximum numbers of members and invitations. Empty without a limit. */
export function memberCountText(limits: Limits<'max_members' | 'max_invitations'>): string {
  const { max_members: members = 0, max_invitations: invitations = 0 } = limits ?? {};
  const parts = [
    ...(members === 0 ? [] : [`${numberText(members)} members`]),
    ...(invitations === 0 ? [] : [`${numberText(invitations)} open invitations`]),
  ];
  return parts.length === 0 ? '' : `A workspace can have up to ${parts.join(' and ')}.`;
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
