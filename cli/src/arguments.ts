import { InvalidArgumentError, Option } from 'commander';

const unitsMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const earliestMs = Date.parse('0001-01-01T00:00:00Z');

/** "30d", "24h", "15m", "90s" in milliseconds. */
export function durationMs(text: string): number {
  const [, count, unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const unitMs = unitsMs[unit];
  if (count === undefined || unitMs === undefined) throw new InvalidArgumentError('say 90s, 15m, 24h or 30d.');
  return Number(count) * unitMs;
}

/** "5s,1m,30m", each in milliseconds. */
export function durationsMs(text: string): number[] {
  return text.split(',').map(durationMs);
}

/** Seconds, with fractions, in whole milliseconds. */
export function secondsMs(text: string): number {
  if (!/^\d{0,9}(?:\.\d{0,9})?$/.test(text) || !/\d/.test(text)) {
    throw new InvalidArgumentError('say a number of seconds.');
  }
  return Math.round(Number(text) * 1000);
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('say a whole number.');
  return Number(text);
}

export function positiveNumber(text: string): number {
  const number = wholeNumber(text);
  if (number === 0) throw new InvalidArgumentError('say a whole number above 0.');
  return number;
}

/** A number of requests; 0: no limit. */
export function limitNumber(text: string): bigint {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('say a whole number; 0 is no limit.');
  return BigInt(text);
}

/** The position of an event in its feed; 0: before the first. */
export function position(text: string): bigint {
  if (!/^\d{1,18}$/.test(text)) throw new InvalidArgumentError('say a whole number, as the events show it.');
  return BigInt(text);
}

/** Specification, "Events". */
const knownEventTypes = ['resource.created', 'resource.updated', 'resource.deleted', 'resource.status_changed'];

/** "a,b", or "*" for all. */
export function eventTypes(text: string): string[] {
  const types = text.split(',');
  if (text === '*' || types.every((type) => knownEventTypes.includes(type))) return types;
  throw new InvalidArgumentError(`say "*", or with commas some of ${knownEventTypes.join(', ')}.`);
}

/** An address for webhooks of this machine. */
export function httpUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new InvalidArgumentError('say an http:// or https:// URL without a user name.');
  }
  return url;
}

/** For options that may be given several times. */
export function collect(value: string, all: readonly string[] = []): string[] {
  return [...all, value];
}

/** An ISO 8601 time, or how long ago ("24h"). */
export function pointInTime(text: string): Date {
  const date = /^\d+[smhd]$/.test(text) ? new Date(Date.now() - durationMs(text)) : new Date(text);
  // Date takes much that nobody means as a time; the year has four digits in a google.protobuf.Timestamp as well.
  const isIso = /^\d{4}-\d{2}-\d{2}(?:T|$)|^\d+[smhd]$/.test(text);
  if (!isIso || !(date.getTime() >= earliestMs)) {
    throw new InvalidArgumentError('say an ISO 8601 time, or how long ago ("24h").');
  }
  return date;
}

export function workspaceOption(): Option {
  return new Option('--workspace <id>', 'the workspace, if there are several');
}
