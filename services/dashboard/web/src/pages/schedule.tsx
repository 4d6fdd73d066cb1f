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

const width = 1_000;
const edge = 14;

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
    return edge + share * (width - 2 * edge);
  };
  return (
    <figure className="schedule">
      <svg viewBox={`0 0 ${width} 64`} role="img" aria-label={text} preserveAspectRatio="none">
        <line className="schedule-line" x1={edge} x2={width - edge} y1="32" y2="32" vectorEffect="non-scaling-stroke" />
        {times.map((seconds, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: attempts are numbered
          <ellipse key={index} className="schedule-dot" cx={place(seconds)} cy="32" rx="8" ry="7" />
        ))}
      </svg>
      <figcaption className="soft small">{text}</figcaption>
    </figure>
  );
}
