import type { DeliveryMetrics, RequestMetrics } from '@rms/api';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ComponentProps, ReactNode } from 'react';
import { useTenant } from '../../api/tenant.ts';
import { durationText } from '../../texts/measures.ts';
import { numberText, plural } from '../../texts/numbers.ts';
import { Chart } from '../../ui/chart.tsx';
import { TimeRangeFilter } from '../../ui/filters.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { Card } from '../../ui/page.tsx';
import { RequestsLink } from '../request-links/requests-link.tsx';
import { useDeliveryMetrics, useRequestMetrics, useUnfinishedDeliveries, useWorkspace } from './metrics-queries.ts';
import { Quota } from './quota.tsx';
import {
  intervalMs,
  intervalText,
  type Preset,
  presetOf,
  presets,
  type Range,
  type RangeSearch,
  rangeOf,
} from './ranges.ts';
import { backlogText, deliveryRate, errorRate } from './rates.ts';

type RequestPoint = RequestMetrics['data'][number];
type DeliveryPoint = DeliveryMetrics['data'][number];

const count = (value: number) => numberText(Math.round(value));
const msText = (ms: number) => durationText(ms / 1_000);

/** Switch for the time range of the charts, and a custom range's bounds. */
export function RangeSwitch({ of: search }: { readonly of: RangeSearch }) {
  const tenant = useTenant();
  const navigate = useNavigate({ from: '/w/$workspace/$environment/' });
  const current = presetOf(search);
  const set = (changed: { since?: string; until?: string }) => {
    const { since, until } = { ...search, ...changed };
    void navigate({ search: since ? { since, ...(until ? { until } : {}) } : {} });
  };
  return (
    <>
      <nav className="spans" aria-label="Time range">
        {(Object.keys(presets) as Preset[]).map((name) => (
          <Link
            key={name}
            to="/w/$workspace/$environment"
            params={tenant}
            search={name === 'hour' ? {} : { span: name }}
            data-current={name === current}
          >
            {presets[name].text}
          </Link>
        ))}
      </nav>
      <details className="custom-range" open={current === undefined}>
        <summary className="small">Custom</summary>
        <div className="row">
          <TimeRangeFilter of={search} onSet={set} />
        </div>
      </details>
    </>
  );
}

/** Tiles and charts: requests, errors, latency, deliveries, backlog, and quota usage. */
export function MetricsCharts({
  of: search,
  tiles: otherTiles,
}: {
  readonly of: RangeSearch;
  /** Tiles shown next to the quota. */
  readonly tiles: ReactNode;
}) {
  const range = rangeOf(search, Date.now());
  const requests = useRequestMetrics(range);
  const deliveries = useDeliveryMetrics(range);
  const attempts = useDeliveryMetrics(range, 'status_class');
  const unfinished = useUnfinishedDeliveries();
  const workspace = useWorkspace();
  const preset = presetOf(search);
  const within = { since: range.from, ...(range.to ? { until: range.to } : {}) };
  const errors = requests.data && errorRate(requests.data.meta.total);
  const rate = deliveries.data && deliveryRate(deliveries.data.meta.total, unfinished.data?.count);
  const backlog = unfinished.data && backlogText(unfinished.data, Date.now());
  const { count: all = 0, p95_ms: p95 = null } = requests.data?.meta.total ?? {};
  const isLoaded = !requests.isPending && !deliveries.isPending && !unfinished.isPending;
  const tiles = [
    [
      'Requests',
      count(all),
      <RequestsLink key="all" of={within}>
        {preset ? `in the last ${preset}` : 'in the chosen range'}
      </RequestsLink>,
    ],
    [
      'Errors',
      errors?.text ?? '–',
      <span key="errors" className="row">
        {errors?.of}
        <RequestsLink of={{ ...within, status: '4xx' }}>View 4xx</RequestsLink>
        <RequestsLink of={{ ...within, status: '5xx' }}>View 5xx</RequestsLink>
      </span>,
    ],
    [
      'API p95 latency',
      p95 === null ? '–' : msText(p95),
      <RequestsLink
        key="all"
        of={within}
      >{`of ${plural(all, { one: '# request', other: '# requests' })}`}</RequestsLink>,
    ],
    ['Delivered', rate?.text ?? '–', rate?.of],
    ['Backlog', backlog?.text ?? '–', backlog?.of],
  ] as const;
  return (
    <>
      <ErrorNote error={requests.error ?? deliveries.error ?? attempts.error ?? unfinished.error ?? workspace.error} />
      <div className="tiles" aria-busy={!isLoaded}>
        {tiles.map(([title, value, about]) => (
          <div className="card tile" key={title}>
            <p className="soft small">{title}</p>
            <p className="value">{isLoaded ? value : '…'}</p>
            <p className="soft small">{isLoaded && about ? about : '\u00a0'}</p>
          </div>
        ))}
      </div>
      <div className="tiles">
        <div className="card tile">
          {workspace.data ? <Quota of={workspace.data} /> : <p className="soft small">Quota used this month</p>}
        </div>
        {otherTiles}
      </div>
      <Charts range={range} requests={requests.data} deliveries={deliveries.data} attempts={attempts.data} />
    </>
  );
}

function Charts({
  range,
  requests,
  deliveries,
  attempts,
}: {
  readonly range: Range;
  readonly requests: RequestMetrics | undefined;
  readonly deliveries: DeliveryMetrics | undefined;
  /** Deliveries by class of the status. */
  readonly attempts: DeliveryMetrics | undefined;
}) {
  const overTime = {
    stepMs: intervalMs[range.granularity],
    timeOf: (start: string) => intervalText(range.granularity, start),
  };
  const requestChart = { ...overTime, points: requests?.data ?? [] };
  const deliveryChart = { ...overTime, points: deliveries?.data ?? [] };
  return (
    <div className="charts">
      <ChartCard<RequestPoint>
        title="Requests"
        kind="bars"
        {...requestChart}
        textOf={count}
        series={[
          {
            name: 'successful',
            className: 'chart-1',
            amountOf: (point) => Math.max(0, point.count - point.errors_4xx - point.errors_5xx),
          },
          { name: '4xx', className: 'chart-2', amountOf: (point) => point.errors_4xx },
          { name: '5xx', className: 'chart-3', amountOf: (point) => point.errors_5xx },
        ]}
      />
      <ChartCard<RequestPoint>
        title="API latency"
        kind="lines"
        {...requestChart}
        textOf={msText}
        series={latencySeries(requests?.meta.total)}
      />
      <ChartCard<DeliveryPoint>
        title="Deliveries"
        kind="bars"
        {...deliveryChart}
        textOf={count}
        series={[
          { name: 'delivered', className: 'chart-1', amountOf: (point) => point.delivered },
          { name: 'failed', className: 'chart-3', amountOf: (point) => point.failed },
          { name: 'canceled', className: 'chart-4', amountOf: (point) => point.canceled },
          { name: 'skipped', className: 'chart-2', amountOf: (point) => point.skipped },
        ]}
      />
      <ChartCard<DeliveryPoint>
        title="Delivery latency"
        kind="lines"
        {...deliveryChart}
        textOf={msText}
        series={latencySeries(deliveries?.meta.total)}
      />
      <ChartCard<AttemptsPoint>
        title="Attempts by response"
        kind="bars"
        {...overTime}
        points={attemptPoints(deliveryChart.points, attempts?.data ?? [])}
        textOf={count}
        series={responses.map(([group, name, className]) => ({
          name,
          className,
          amountOf: ({ attempts: made }) => made[group] ?? 0,
        }))}
      />
    </div>
  );
}

type Latencies = Pick<RequestPoint, 'p50_ms' | 'p95_ms' | 'p99_ms'>;

function latencySeries(total: Latencies | undefined) {
  const names = [
    ['p50_ms', 'p50', 'chart-5'],
    ['p95_ms', 'p95', 'chart-1'],
    ['p99_ms', 'p99', 'chart-2'],
  ] as const;
  return names.map(([field, name, className]) => ({
    name,
    className,
    amountOf: (point: Latencies) => point[field],
    total: total?.[field] ?? null,
  }));
}

/** Groups of attempts, the names that charts show, and their colors. */
const responses = [
  ['2xx', '2xx', 'chart-1'],
  ['3xx', '3xx', 'chart-5'],
  ['4xx', '4xx', 'chart-2'],
  ['5xx', '5xx', 'chart-3'],
  ['none', 'no response', 'chart-4'],
] as const;

interface AttemptsPoint {
  readonly start: string;
  /** Numbers of attempts by group. */
  readonly attempts: Readonly<Record<string, number>>;
}

/** Returns a point for every interval of `all`, with the attempts of its groups. */
function attemptPoints(all: readonly DeliveryPoint[], grouped: readonly DeliveryPoint[]): AttemptsPoint[] {
  const byStart = new Map(all.map(({ start }) => [start, {} as Record<string, number>]));
  for (const { start, group = '', attempts } of grouped) {
    const point = byStart.get(start);
    if (point) point[group] = attempts;
  }
  return [...byStart].map(([start, attempts]) => ({ start, attempts }));
}

function ChartCard<T extends { readonly start: string }>({
  title,
  actions,
  ...chart
}: { readonly title: string; readonly actions?: ReactNode } & Omit<ComponentProps<typeof Chart<T>>, 'label'>) {
  return (
    <Card title={title} actions={actions}>
      <Chart<T> label={title} {...chart} />
    </Card>
  );
}
