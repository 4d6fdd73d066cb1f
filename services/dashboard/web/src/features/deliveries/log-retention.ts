import type { LimitsDocument } from '../../../../src/documents/limits.ts';
import { deliveryTexts } from '../../texts/deliveries.ts';
import { uiTexts } from '../../texts/ui.ts';

type Limits = Pick<LimitsDocument, 'delivery_log_days'> | undefined;

const daySeconds = 86_400;

/** Note about a delivery that ended because of the retention. */
export function expiredText(limits: Limits): string {
  const { expired, expiredAfter } = deliveryTexts();
  return limits ? expiredAfter(limits.delivery_log_days) : expired;
}

/** Time ranges within the delivery log's retention, as options with a number of seconds. */
export function logRanges(limits: Limits): [seconds: string, text: string][] {
  const kept = limits?.delivery_log_days ?? 7;
  const { hour, day, days } = uiTexts().ranges;
  const ranges: [number, string][] = [
    [3_600, hour],
    [daySeconds, day],
    [7 * daySeconds, days(7)],
    [30 * daySeconds, days(30)],
  ];
  const within = ranges.filter(([seconds]) => seconds <= kept * daySeconds);
  if (!within.some(([seconds]) => seconds === kept * daySeconds)) within.push([kept * daySeconds, days(kept)]);
  return within.map(([seconds, text]) => [String(seconds), text]);
}
