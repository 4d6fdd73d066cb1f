import type { RetryPolicyDocument } from '../../../src/documents/webhook.ts';
import { spanText } from '../ui/time.tsx';

/** As services/webhooks reckons: each delay as a multiple of the first, then six times more each. */
const multiples = [1, 5, 30, 120, 720];
const lastFactor = 6;

/** The delay before each retry, in seconds. */
export function delaysOf(policy: RetryPolicyDocument): number[] {
  if (policy.delays_seconds) return [...policy.delays_seconds];
  return Array.from({ length: policy.max_retries }, (_, index) => {
    const last = multiples.length - 1;
    const multiple = multiples[index] ?? (multiples[last] as number) * lastFactor ** (index - last);
    return Math.min(policy.initial_delay_seconds * multiple, policy.max_delay_seconds);
  });
}

/** Of the width, in percent. */
const edge = 2;
/** Between two labels on the narrowest screen, one above and one below. */
const fewestPercent = 13;

/** When attempts come, on a line of time that is narrower the later it is. */
export function Schedule({ policy }: { readonly policy: RetryPolicyDocument }) {
  const delays = delaysOf(policy);
  let at = 0;
  const times = [0, ...delays.map((delay) => (at += delay))];
  const total = times.at(-1) ?? 0;
  const text =
    delays.length === 0
      ? 'One attempt, and no retry.'
      : `${delays.length + 1} attempts within ${spanText(total)}: after ${delays.map(spanText).join(', then ')}.`;
  // Equal steps on a logarithmic scale would crowd the first ones; the square of the logarithm spreads them.
  const place = (seconds: number) => {
    const share = total > 0 ? Math.log1p(seconds) / Math.log1p(total) : 0;
    return edge + share * (100 - 2 * edge);
  };
  // Those that have room: labels stand above and below by turns.
  const labelled: number[] = [];
  for (const [index, seconds] of times.entries()) {
    const before = labelled.at(-1);
    const isLast = index === times.length - 1;
    const distance = before === undefined ? 100 : place(seconds) - place(times[before] ?? 0);
    if (isLast && distance < fewestPercent && labelled.length > 1) labelled.pop();
    if (isLast || distance >= fewestPercent) labelled.push(index);
  }
  return (
    <figure className="schedule">
      <svg role="img" aria-label={text}>
        <line className="schedule-line" x1={`${edge}%`} x2={`${100 - edge}%`} y1="32" y2="32" />
        {times.map((seconds, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: attempts are numbered
          <circle key={index} className="schedule-dot" cx={`${place(seconds)}%`} cy="32" r="7" />
        ))}
        {labelled.map((index, position) => (
          <text
            key={index}
            className="schedule-text"
            x={`${place(times[index] ?? 0)}%`}
            y={position % 2 === 0 ? 14 : 58}
            textAnchor={index === 0 ? 'start' : index === times.length - 1 ? 'end' : 'middle'}
          >
            {index === 0 ? 'at once' : spanText(times[index] ?? 0)}
          </text>
        ))}
      </svg>
      <figcaption className="soft small">{text}</figcaption>
    </figure>
  );
}
