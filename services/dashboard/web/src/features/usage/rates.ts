import { countText } from '../../ui/count.ts';

/** A rate and its denominator, as texts. */
export interface Rate {
  /** "99.9 %"; "–" without a denominator. */
  readonly text: string;
  /** "of 1,900 deliveries: 0 failed, 900 pending". */
  readonly of: string;
}

/** Number where the server stops counting unfinished deliveries. */
const maxUnfinished = 10_000;

const count = (value: number) => Math.round(value).toLocaleString();

/** Formats a share, rounded down, so that 100 % means all. Returns "–" if `all` is 0. */
export function shareText(part: number, all: number): string {
  return all > 0 ? `${(Math.floor((part * 1000) / all) / 10).toFixed(1)} %` : '–';
}

/**
 * Returns the share of deliveries that succeeded. Unfinished deliveries count as not delivered, so that the rate falls
 * as soon as an endpoint fails, not only after the last retry. Canceled deliveries count neither way. `unfinished`:
 * undefined if unknown.
 */
export function deliveryRate({
  delivered,
  failed,
  canceled,
  unfinished,
}: {
  readonly delivered: number;
  readonly failed: number;
  readonly canceled: number;
  readonly unfinished: number | undefined;
}): Rate {
  if (unfinished === undefined) return { text: '–', of: 'pending deliveries unknown' };
  const all = delivered + failed + unfinished;
  const isCapped = unfinished >= maxUnfinished;
  const more = isCapped ? ' or more' : '';
  const deliveries = isCapped ? `${count(all)}${more} deliveries` : countText(all, 'delivery', 'deliveries');
  return {
    text: `${isCapped ? 'at most ' : ''}${shareText(delivered, all)}`,
    of:
      `of ${deliveries}: ${count(failed)} failed, ${count(unfinished)}${more} pending` +
      (canceled > 0 ? `; ${count(canceled)} canceled` : ''),
  };
}

/** Returns the share of failed requests. It is rounded up, so that 0 % means none. */
export function errorRate(errors: number, requests: number): Rate {
  const text = requests > 0 ? `${(Math.ceil((errors * 1000) / requests) / 10).toFixed(1)} %` : '–';
  return { text, of: `of ${countText(requests, 'request', 'requests')}: ${count(errors)} with 4xx or 5xx` };
}
