import { durationText, percentText, shareText } from '../../texts/measures.ts';
import { numberText, plural } from '../../texts/numbers.ts';

/** A rate and its denominator, as texts. */
export interface Rate {
  /** "99.9 %"; "–" without a denominator. */
  readonly text: string;
  /** "of 1,900 deliveries: 0 failed, 900 pending". */
  readonly of: string;
}

/** Number where the server stops counting unfinished deliveries. */
const maxUnfinished = 10_000;

const count = (value: number) => numberText(Math.round(value));

/**
 * Returns the share of deliveries that succeeded, of all finished ones, however they ended, and of the unfinished ones.
 * The rate therefore falls as soon as an endpoint fails, not only after the last retry.
 * @param unfinished undefined if unknown
 */
export function deliveryRate(
  { delivered, failed, canceled, skipped }: Readonly<Record<'delivered' | 'failed' | 'canceled' | 'skipped', number>>,
  unfinished: number | undefined,
): Rate {
  if (unfinished === undefined) return { text: '–', of: 'pending deliveries unknown' };
  const all = delivered + failed + canceled + skipped + unfinished;
  const isCapped = unfinished >= maxUnfinished;
  const more = isCapped ? ' or more' : '';
  const deliveries = isCapped
    ? `${count(all)}${more} deliveries`
    : plural(all, { one: '# delivery', other: '# deliveries' });
  const others = [
    ...(canceled > 0 ? [`${count(canceled)} canceled`] : []),
    ...(skipped > 0 ? [`${count(skipped)} skipped`] : []),
  ];
  const parts = [`${count(failed)} failed`, ...others, `${count(unfinished)}${more} pending`];
  return {
    text: `${isCapped ? 'at most ' : ''}${shareText(delivered, all)}`,
    of: `of ${deliveries}: ${parts.join(', ')}`,
  };
}

/** Returns the number of pending deliveries, and the age of the oldest. */
export function backlogText(
  { count: pending, oldest_at: oldestAt }: { readonly count: number; readonly oldest_at: string | null },
  nowMs: number,
): Rate {
  const text = `${count(pending)}${pending >= maxUnfinished ? ' or more' : ''}`;
  return {
    text,
    of: oldestAt === null ? 'no pending deliveries' : `pending; the oldest for ${ageText(oldestAt, nowMs)}`,
  };
}

/** Formats how long ago something happened. */
export function ageText(at: string, nowMs: number): string {
  return durationText(Math.max(0, Math.floor((nowMs - Date.parse(at)) / 1_000)));
}

/** Returns the share of failed requests. It is rounded up, so that 0 % means none. */
export function errorRate({
  count: requests,
  errors_4xx: clientErrors,
  errors_5xx: serverErrors,
}: Readonly<Record<'count' | 'errors_4xx' | 'errors_5xx', number>>): Rate {
  const errors = clientErrors + serverErrors;
  const text = requests > 0 ? percentText(Math.ceil((errors * 1000) / requests) / 10) : '–';
  return {
    text,
    of: `of ${plural(requests, { one: '# request', other: '# requests' })}: ${count(errors)} with 4xx or 5xx`,
  };
}
