import { type PointerEvent, useState } from 'react';

export interface Series<T> {
  readonly name: string;
  /** CSS class from styles/ui.css. */
  readonly className: 'chart-1' | 'chart-2' | 'chart-3';
  readonly amountOf: (point: T) => number;
  /** Value of the whole time range; default: the sum of all points. */
  readonly total?: number;
}

const width = 600;
const height = 150;
const gapShare = 0.22;

/**
 * Stacked bar chart over time. Shows the time and the bar's values under the mouse, or of the bar that was touched
 * last.
 */
export function Chart<T extends { readonly at: string | null }>({
  label,
  points,
  series,
  textOf,
  timeOf,
}: {
  readonly label: string;
  readonly points: readonly T[];
  readonly series: readonly Series<T>[];
  /** Formats a value with its unit. */
  readonly textOf: (value: number) => string;
  /** Formats a point's time. */
  readonly timeOf: (at: string) => string;
}) {
  const [pointed, setPointed] = useState<number>();
  const sumOf = (point: T) => series.reduce((sum, { amountOf }) => sum + amountOf(point), 0);
  const top = points.reduce((most, point) => Math.max(most, sumOf(point)), 0);
  const step = width / Math.max(1, points.length);
  const totals = series.map(
    ({ name, amountOf, total }) => `${name} ${textOf(total ?? points.reduce((sum, p) => sum + amountOf(p), 0))}`,
  );
  const point = (event: PointerEvent) => {
    const box = event.currentTarget.getBoundingClientRect();
    const index = Math.floor(((event.clientX - box.left) / box.width) * points.length);
    setPointed(Math.min(points.length - 1, Math.max(0, index)));
  };
  const shown = pointed === undefined ? undefined : points[pointed];
  const [first, last] = [points[0]?.at, points.at(-1)?.at];
  return (
    <figure className="chart">
      <p className="chart-top" aria-hidden="true">
        <span>{shown?.at ? timeOf(shown.at) : ''}</span>
        <span>{top > 0 ? `peak ${textOf(top)}` : ''}</span>
      </p>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label}: ${totals.join(', ')}, peak ${textOf(top)}`}
        onPointerLeave={({ pointerType }) => pointerType === 'mouse' && setPointed(undefined)}
        onPointerDown={point}
        onPointerMove={point}
      >
        {[0.25, 0.5, 0.75].map((share) => (
          <line key={share} className="chart-line" x1="0" x2={width} y1={height * share} y2={height * share} />
        ))}
        {points.map((point, index) => {
          let under = 0;
          return series.map(({ name, className, amountOf }) => {
            const value = amountOf(point);
            const size = top > 0 ? (value / top) * (height - 4) : 0;
            under += size;
            if (size === 0) return null;
            return (
              <rect
                key={`${point.at} ${name}`}
                className={index === pointed ? `${className} chart-pointed` : className}
                x={index * step + (step * gapShare) / 2}
                width={step * (1 - gapShare)}
                y={height - under}
                height={size}
              />
            );
          });
        })}
      </svg>
      <p className="chart-axis">
        <span>{first ? timeOf(first) : ''}</span>
        <span>{last ? timeOf(last) : ''}</span>
      </p>
      <figcaption className="legend">
        {series.map(({ name, className, amountOf }) => (
          <span key={name}>
            <svg viewBox="0 0 10 10" aria-hidden="true">
              <rect className={className} width="10" height="10" rx="2" />
            </svg>
            {name}
            {shown ? ` ${textOf(amountOf(shown))}` : ''}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}
