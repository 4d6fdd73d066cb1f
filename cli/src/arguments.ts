import type { Environment } from '@rms/base/tenant';
import { isEventType, eventTypes as knownEventTypes } from '@rms/base/webhook-events';
import { InvalidArgumentError, Option } from 'commander';

const unitsMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const earliestMs = Date.parse('0001-01-01T00:00:00Z');

/** Parses a duration such as "1w", "30d", "24h", "15m" or "90s" into milliseconds. */
export function durationMs(text: string): number {
  const [, count, unit = ''] = /^(\d{1,9})([smhdw])$/.exec(text) ?? [];
  const unitMs = unitsMs[unit];
  if (count === undefined || unitMs === undefined)
    throw new InvalidArgumentError('Expected a duration such as 90s, 15m, 24h, 30d or 1w.');
  return Number(count) * unitMs;
}

/** Parses a comma-separated list of durations ("5s,1m,30m") into milliseconds. */
export function durationsMs(text: string): number[] {
  return text.split(',').map(durationMs);
}

/** Parses a number of seconds, fractions allowed, and rounds it to whole milliseconds. */
export function secondsMs(text: string): number {
  if (!/^\d{0,9}(?:\.\d{0,9})?$/.test(text) || !/\d/.test(text)) {
    throw new InvalidArgumentError('Expected a number of seconds.');
  }
  return Math.round(Number(text) * 1000);
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Expected a whole number.');
  return Number(text);
}

export function positiveNumber(text: string): number {
  const number = wholeNumber(text);
  if (number === 0) throw new InvalidArgumentError('Expected a whole number greater than 0.');
  return number;
}

/** Parses a request limit. 0 means no limit. */
export function limitNumber(text: string): bigint {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('Expected a whole number; 0 means no limit.');
  return BigInt(text);
}

/** Parses a limit per second, fractions allowed. "none" becomes 0. */
export function perSecondLimit(text: string): number {
  if (text === 'none') return 0;
  if (!/^\d{1,9}(?:\.\d{1,9})?$/.test(text) || Number(text) === 0) {
    throw new InvalidArgumentError('Expected a number greater than 0, or none.');
  }
  return Number(text);
}

/** Parses the rate limit of a single key, at least 1. */
export function keyLimitNumber(text: string): bigint {
  if (!/^\d{1,15}$/.test(text) || Number(text) === 0) {
    throw new InvalidArgumentError('Expected a whole number greater than 0.');
  }
  return BigInt(text);
}

/** Parses an event's position in its feed. 0 is the position before the first event. */
export function position(text: string): bigint {
  if (!/^\d{1,18}$/.test(text)) throw new InvalidArgumentError('Expected the sequence number of an event.');
  return BigInt(text);
}

/** Parses a dead letter's ID. */
export function deadLetterId(text: string): bigint {
  if (!/^[1-9]\d{0,17}$/.test(text)) throw new InvalidArgumentError('Expected the ID of a dead letter, a number.');
  return BigInt(text);
}

/** Parses a comma-separated list of event types, or "*" for all types of events about resources. */
export function eventTypes(text: string): string[] {
  const types = text.split(',');
  if (text === '*' || types.every(isEventType)) return types;
  throw new InvalidArgumentError(`Expected "*" or a comma-separated list of: ${knownEventTypes.join(', ')}.`);
}

/** Parses the URL that `rms listen` forwards events to. */
export function httpUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new InvalidArgumentError('Expected an http:// or https:// URL without credentials.');
  }
  return url;
}

/** Collects a repeatable option's values. */
export function collect(value: string, all: readonly string[] = []): string[] {
  return [...all, value];
}

/** Parses an ISO 8601 time, or a duration before now ("24h"). */
export function pointInTime(text: string): Date {
  return timeFromNow(text, -1);
}

/** Parses an ISO 8601 time, or a duration from now ("30d"). */
export function futureTime(text: string): Date {
  return timeFromNow(text, 1);
}

function timeFromNow(text: string, sign: 1 | -1): Date {
  const date = /^\d+[smhdw]$/.test(text) ? new Date(Date.now() + sign * durationMs(text)) : new Date(text);
  // `Date` also parses strings that are not ISO 8601. google.protobuf.Timestamp requires a year of four digits.
  const isIso = /^\d{4}-\d{2}-\d{2}(?:T|$)|^\d+[smhdw]$/.test(text);
  if (!isIso || !(date.getTime() >= earliestMs)) {
    throw new InvalidArgumentError(
      `Expected an ISO 8601 time or a duration ${sign === 1 ? 'from' : 'before'} now ("24h").`,
    );
  }
  return date;
}

/** Creates the option --environment. "test", as in the prefix of sandbox keys, means "sandbox". */
export function environmentOption(about: string): Option {
  return new Option('--environment <live|sandbox>', about).argParser((text): Environment => {
    if (text === 'live') return 'live';
    if (text === 'sandbox' || text === 'test') return 'sandbox';
    throw new InvalidArgumentError('Allowed choices are live, sandbox.');
  });
}

export function workspaceOption(): Option {
  return new Option(
    '--workspace <name-or-id>',
    'name or ID of the workspace (default: the workspace of an ID in the command, if any; otherwise RMS_WORKSPACE or the only workspace)',
  );
}

/** Option of lists. */
export function allWorkspacesOption(about = 'list the objects of every workspace'): Option {
  return new Option('--all-workspaces', about).conflicts('workspace');
}
