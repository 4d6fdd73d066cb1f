import { useEffect, useRef, useState } from 'react';
import uPlot from 'uplot';

export interface Series<T> {
  readonly name: string;
  /** CSS class from styles/ui.css. */
  readonly className: 'chart-1' | 'chart-2' | 'chart-3' | 'chart-4' | 'chart-5';
  /** null: nothing was measured. */
  readonly amountOf: (point: T) => number | null;
  /** Value of the whole time range; default: the sum of all points. */
  readonly total?: number | null;
}

interface ChartProps<T> {
  readonly label: string;
  /** Stacked bars for counts, lines for measurements. */
  readonly kind: 'bars' | 'lines';
  /** Oldest first, `stepMs` apart. */
  readonly points: readonly T[];
  readonly stepMs: number;
  readonly series: readonly Series<T>[];
  /** Formats a value with its unit. */
  readonly textOf: (value: number) => string;
  /** Formats a point's start. */
  readonly timeOf: (start: string) => string;
}

const height = 190;
const barShare = 0.78;
const maxBarWidth = 60;
/** Width of a digit of the axes' font, and of the space around a label, in CSS pixels. */
const [digitWidth, labelGap] = [7, 14];
/** Points of a line are marked if they are few, so that a single one is visible. */
const maxMarked = 35;

/** Point under the pointer, and its distance from the plot's left side in CSS pixels. */
interface Pointed {
  readonly index: number;
  readonly left: number;
  readonly width: number;
}

/** Chart over time with axes. Shows the values of the point under the pointer, or that was touched last. */
export function Chart<T extends { readonly start: string }>(props: ChartProps<T>) {
  const { label, kind, points, stepMs, series, textOf, timeOf } = props;
  const root = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const [pointed, setPointed] = useState<Pointed>();
  const names = series.map(({ name }) => name).join();

  // biome-ignore lint/correctness/useExhaustiveDependencies: `latest` has the other properties
  useEffect(() => {
    const element = root.current;
    if (!element) return;
    const made = new uPlot(optionsOf(element, latest, setPointed), dataOf(latest.current), element);
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    // The canvas has the theme's colors from when it was drawn.
    const redraw = () => made.redraw();
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', redraw);
    const themed = new MutationObserver(redraw);
    themed.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => {
      resized.disconnect();
      themed.disconnect();
      dark.removeEventListener('change', redraw);
      made.destroy();
      plot.current = undefined;
    };
  }, [kind, names, stepMs]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: drawn again only if the points change
  useEffect(() => {
    plot.current?.setData(dataOf(latest.current));
  }, [points]);

  const totals = series.map(({ name, amountOf, total }) => {
    const value = total === undefined ? points.reduce((sum, point) => sum + (amountOf(point) ?? 0), 0) : total;
    return `${name} ${value === null ? '–' : textOf(value)}`;
  });
  const shown = pointed && points[pointed.index];
  return (
    <figure className="chart">
      <div ref={root} role="img" aria-label={`${label}: ${totals.join(', ')}`} className="chart-plot" />
      {pointed && shown ? (
        <div
          className="chart-tip"
          data-side={pointed.left > pointed.width / 2 ? 'left' : 'right'}
          style={placeOf(pointed)}
        >
          <p>{timeOf(shown.start)}</p>
          {series.map(({ name, className, amountOf }) => {
            const value = amountOf(shown);
            return (
              <p key={name}>
                <Swatch of={className} />
                <span>{name}</span>
                <strong>{value === null ? '–' : textOf(value)}</strong>
              </p>
            );
          })}
        </div>
      ) : null}
      <figcaption className="legend">
        {series.map(({ name, className }) => (
          <span key={name}>
            <Swatch of={className} />
            {name}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

function Swatch({ of }: { readonly of: Series<never>['className'] }) {
  return (
    <svg viewBox="0 0 10 10" aria-hidden="true">
      <rect className={of} width="10" height="10" rx="2" />
    </svg>
  );
}

const tipGap = 12;

/** Places the tooltip near its point, on the side with more space. */
function placeOf({ left, width }: Pointed) {
  return left > width / 2 ? { right: width - left + tipGap } : { left: left + tipGap };
}

/** Returns the series' values, in seconds and amounts. Bars are sums, the whole bar first, because later ones cover it. */
function dataOf<T extends { readonly start: string }>({ points, series, kind }: ChartProps<T>): uPlot.AlignedData {
  const times = points.map(({ start }) => Date.parse(start) / 1_000);
  if (kind === 'lines') return [times, ...series.map(({ amountOf }) => points.map(amountOf))];
  const sums = series.map((_, i) =>
    points.map((point) => series.slice(0, i + 1).reduce((sum, { amountOf }) => sum + (amountOf(point) ?? 0), 0)),
  );
  return [times, ...sums.reverse()];
}

function optionsOf<T extends { readonly start: string }>(
  element: HTMLElement,
  latest: { readonly current: ChartProps<T> },
  setPointed: (pointed: Pointed | undefined) => void,
): uPlot.Options {
  const { kind, series, stepMs } = latest.current;
  const isBars = kind === 'bars';
  const order = isBars ? [...series].reverse() : series;
  const bars = uPlot.paths.bars?.({ size: [barShare, maxBarWidth] });
  const colorOf = (className: string) => () => {
    const swatch = element.parentElement?.querySelector(`.legend .${className}`);
    return swatch ? getComputedStyle(swatch).fill : 'gray';
  };
  const soft = () => getComputedStyle(element).color;
  const line = () => getComputedStyle(element).borderTopColor;
  const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  const half = stepMs / 2_000;
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    padding: [10, 8, 0, 0],
    // Days are in UTC.
    ...(stepMs >= 86_400_000 ? { tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1_000), 'UTC') } : {}),
    cursor: { y: false, drag: { x: false, y: false }, points: { show: !isBars } },
    scales: {
      x: { range: (_, from, to) => [from - half, to + half] },
      y: { range: (_, __, most) => [0, most > 0 ? most * 1.05 : 1] },
    },
    axes: [
      axis,
      {
        ...axis,
        size: (_, values) => labelGap + digitWidth * Math.max(1, ...(values ?? []).map((text) => text.length)),
        values: (_, ticks) => ticks.map((tick) => latest.current.textOf(tick)),
        // Counts have no fractions.
        ...(isBars ? { incrs: wholeSteps } : {}),
      },
    ],
    series: [
      {},
      ...order.map(({ name, className }) => ({
        label: name,
        stroke: colorOf(className),
        ...(isBars && bars
          ? { fill: colorOf(className), paths: bars, width: 0, points: { show: false } }
          : { width: 2, spanGaps: false, points: { show: latest.current.points.length <= maxMarked, size: 4 } }),
      })),
    ],
    hooks: {
      setCursor: [
        ({ cursor: { idx, left }, over }) => {
          const width = element.clientWidth;
          if (idx == null || left === undefined || left < 0) setPointed(undefined);
          else setPointed({ index: idx, left: left + over.offsetLeft, width });
        },
      ],
    },
  };
}

/** Distances of the labels of counts: 1, 2, 5, 10, … */
const wholeSteps = Array.from({ length: 10 }, (_, i) => [1, 2, 5].map((step) => step * 10 ** i)).flat();
