import type { RetryPolicyDocument } from '@rms/api';
import { useLayoutEffect, useRef, useState } from 'react';
import { durationText } from '../../texts/measures.ts';
import { webhookTexts } from '../../texts/webhooks.ts';
import { placeLabels } from './schedule-labels.ts';

/** Delays of services/webhooks as multiples of the first delay. Each further delay is six times the previous one. */
const delayMultiples = [1, 5, 30, 120, 720];
const lastFactor = 6;

/** Returns the delay before each retry, in seconds. */
function delaysOf({
  delays,
  max_retries: length = 0,
  initial_delay = 0,
  max_delay = 0,
}: RetryPolicyDocument): number[] {
  if (delays) return [...delays];
  return Array.from({ length }, (_, index) => {
    const last = delayMultiples.length - 1;
    const multiple = delayMultiples[index] ?? (delayMultiples[last] as number) * lastFactor ** (index - last);
    return Math.min(initial_delay * multiple, max_delay);
  });
}

/** Margin on each side, in percent of the width. */
const marginPercent = 2;
/** Width until the first measurement, in pixels. */
const initialWidth = 280;

/** Attempts on a compressed time axis, with later times closer together. */
export function Schedule({ policy }: { readonly policy: RetryPolicyDocument }) {
  const delays = delaysOf(policy);
  let at = 0;
  const times = [0, ...delays.map((delay) => (at += delay))];
  const total = times.at(-1) ?? 0;
  const texts = webhookTexts();
  const text = delays.length === 0 ? texts.oneAttempt : texts.schedule(delays.length + 1, total, delays);
  // A linear scale would crowd the first attempts. A logarithmic scale spreads them.
  const percentAt = (seconds: number) => {
    const share = total > 0 ? Math.log1p(seconds) / Math.log1p(total) : 0;
    return marginPercent + share * (100 - 2 * marginPercent);
  };
  const svg = useRef<SVGSVGElement>(null);
  const [width, setWidth] = useState(initialWidth);
  useLayoutEffect(() => {
    if (!svg.current) return;
    const observer = new ResizeObserver(([entry]) => entry && setWidth(entry.contentRect.width));
    observer.observe(svg.current);
    return () => observer.disconnect();
  }, []);
  const points = times.map((seconds, index) => ({
    x: (percentAt(seconds) / 100) * width,
    text: index === 0 ? texts.now : durationText(seconds),
  }));
  const sides = placeLabels(points, width);
  return (
    <figure className="schedule">
      <svg ref={svg} role="img" aria-label={text}>
        <line className="schedule-line" x1={`${marginPercent}%`} x2={`${100 - marginPercent}%`} y1="32" y2="32" />
        {times.map((seconds, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: attempts are numbered
          <circle key={index} className="schedule-dot" cx={`${percentAt(seconds)}%`} cy="32" r="7" />
        ))}
        {points.map(({ x, text: label }, index) =>
          sides[index] ? (
            <text
              // biome-ignore lint/suspicious/noArrayIndexKey: attempts are numbered
              key={index}
              className="schedule-text"
              x={x}
              y={sides[index] === 'above' ? 14 : 58}
              textAnchor={index === 0 ? 'start' : index === times.length - 1 ? 'end' : 'middle'}
            >
              {label}
            </text>
          ) : null,
        )}
      </svg>
      <figcaption className="soft small">{text}</figcaption>
    </figure>
  );
}
