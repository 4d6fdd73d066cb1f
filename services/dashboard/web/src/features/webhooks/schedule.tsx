import type { RetryPolicyDocument } from '../../../../src/documents/webhook.ts';
import { durationText } from '../../ui/duration.ts';

/** Delays of services/webhooks as multiples of the first delay. Each further delay is six times the previous one. */
const delayMultiples = [1, 5, 30, 120, 720];
const lastFactor = 6;

/** Returns the delay before each retry, in seconds. */
export function delaysOf(policy: RetryPolicyDocument): number[] {
  if (policy.delays_seconds) return [...policy.delays_seconds];
  return Array.from({ length: policy.max_retries }, (_, index) => {
    const last = delayMultiples.length - 1;
    const multiple = delayMultiples[index] ?? (delayMultiples[last] as number) * lastFactor ** (index - last);
    return Math.min(policy.initial_delay_seconds * multiple, policy.max_delay_seconds);
  });
}

/** Margin on each side, in percent of the width. */
const marginPercent = 2;
/** Minimum distance between labels, in percent. Labels alternate above and below the line. */
const minLabelDistance = 13;

/** Attempts on a compressed time axis, with later times closer together. */
export function Schedule({ policy }: { readonly policy: RetryPolicyDocument }) {
  const delays = delaysOf(policy);
  let at = 0;
  const times = [0, ...delays.map((delay) => (at += delay))];
  const total = times.at(-1) ?? 0;
  const text =
    delays.length === 0
      ? 'One attempt, no retry.'
      : `${delays.length + 1} attempts within ${durationText(total)}, with delays of ${delays.map(durationText).join(', ')}.`;
  // A linear scale would crowd the first attempts. A logarithmic scale spreads them.
  const percentAt = (seconds: number) => {
    const share = total > 0 ? Math.log1p(seconds) / Math.log1p(total) : 0;
    return marginPercent + share * (100 - 2 * marginPercent);
  };
  // Indexes of the labels that fit.
  const labeled: number[] = [];
  for (const [index, seconds] of times.entries()) {
    const before = labeled.at(-1);
    const isLast = index === times.length - 1;
    const distance = before === undefined ? 100 : percentAt(seconds) - percentAt(times[before] ?? 0);
    if (isLast && distance < minLabelDistance && labeled.length > 1) labeled.pop();
    if (isLast || distance >= minLabelDistance) labeled.push(index);
  }
  return (
    <figure className="schedule">
      <svg role="img" aria-label={text}>
        <line className="schedule-line" x1={`${marginPercent}%`} x2={`${100 - marginPercent}%`} y1="32" y2="32" />
        {times.map((seconds, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: attempts are numbered
          <circle key={index} className="schedule-dot" cx={`${percentAt(seconds)}%`} cy="32" r="7" />
        ))}
        {labeled.map((index, position) => (
          <text
            key={index}
            className="schedule-text"
            x={`${percentAt(times[index] ?? 0)}%`}
            y={position % 2 === 0 ? 14 : 58}
            textAnchor={index === 0 ? 'start' : index === times.length - 1 ? 'end' : 'middle'}
          >
            {index === 0 ? 'now' : durationText(times[index] ?? 0)}
          </text>
        ))}
      </svg>
      <figcaption className="soft small">{text}</figcaption>
    </figure>
  );
}
