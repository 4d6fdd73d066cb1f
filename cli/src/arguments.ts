import { InvalidArgumentError, Option } from 'commander';

const unitsMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** "30d", "24h", "15m", "90s" in milliseconds. */
export function durationMs(text: string): number {
  const [, count, unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const unitMs = unitsMs[unit];
  if (count === undefined || unitMs === undefined) throw new InvalidArgumentError('say 90s, 15m, 24h or 30d.');
  return Number(count) * unitMs;
}

/** Seconds, with fractions, in milliseconds. */
export function secondsMs(text: string): number {
  const seconds = Number(text);
  if (text.trim() === '' || !Number.isFinite(seconds) || seconds < 0) {
    throw new InvalidArgumentError('say a number of seconds.');
  }
  return seconds * 1000;
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('say a whole number.');
  return Number(text);
}

/** An ISO 8601 time, or how long ago ("24h"). */
export function pointInTime(text: string): Date {
  if (/^\d+[smhd]$/.test(text)) return new Date(Date.now() - durationMs(text));
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) throw new InvalidArgumentError('say an ISO 8601 time, or how long ago ("24h").');
  return date;
}

export function workspaceOption(): Option {
  return new Option('--workspace <id>', 'the workspace, if there are several');
}
