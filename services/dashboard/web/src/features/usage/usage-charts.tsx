import { Link } from '@tanstack/react-router';
import type { ComponentProps, ReactNode } from 'react';
import type { SpanName, UsageDocument, UsagePointDocument } from '../../../../src/documents/usage.ts';
import { useTenant } from '../../api/tenant.ts';
import { Chart } from '../../ui/chart.tsx';
import { countText } from '../../ui/count.ts';
import { durationText } from '../../ui/duration.ts';
import { ErrorNote } from '../../ui/notes.tsx';
import { Card } from '../../ui/page.tsx';
import { minutesAgo, RequestsLink } from '../request-links/requests-link.tsx';
import { pointTime } from './point-time.ts';
import { Quota } from './quota.tsx';
import { deliveryRate, errorRate } from './rates.ts';
import { useUnfinishedDeliveries, useUsage } from './usage-queries.ts';

const spans: readonly (readonly [SpanName, string])[] = [
  ['hour', 'Hour'],
  ['day', 'Day'],
  ['month', 'Month'],
];
const secondsOf: Readonly<Record<SpanName, number>> = { hour: 3_600, day: 86_400, month: 30 * 86_400 };
const count = (value: number) => Math.round(value).toLocaleString();

/** Switch for the time range of the charts. */
export function SpanSwitch({ span }: { readonly span: SpanName }) {
  const tenant = useTenant();
  return (
    <nav className="spans" aria-label="Time range">
      {spans.map(([name, text]) => (
        <Link
          key={name}
          to="/w/$workspace/$environment"
          params={tenant}
          search={name === 'hour' ? {} : { span: name }}
          data-current={name === span}
        >
          {text}
        </Link>
      ))}
    </nav>
  );
}

/** Placeholder data. Gives the page its final layout, so that it does not shift when the data arrives. */
const emptyUsage: Omit<UsageDocument, 'total'> & { readonly total?: undefined } = {
  points: [],
  month: { used: 0, quota: null, ends_at: null },
};

/** Tiles and charts: requests, errors, p95 latency, deliveries, and quota usage. */
export function UsageCharts({
  span,
  tiles: otherTiles,
}: {
  readonly span: SpanName;
  /** Tiles shown next to the quota. */
  readonly tiles: ReactNode;
}) {
  const usage = useUsage(span);
  const unfinished = useUnfinishedDeliveries();
  const data = usage.data ?? emptyUsage;
  if (usage.error && !usage.data) {
    return (
      <>
        <ErrorNote error={usage.error} />
        <div className="tiles">{otherTiles}</div>
      </>
    );
  }
  const overTime = { points: data.points, timeOf: (at: string) => pointTime(span, at) };
  const {
    requests = 0,
    client_errors = 0,
    server_errors = 0,
    p95_ms = 0,
    delivered = 0,
    failed = 0,
    canceled = 0,
  } = data.total ?? {};
  const errors = errorRate(client_errors + server_errors, requests);
  const deliveries = deliveryRate({ delivered, failed, canceled, unfinished: unfinished.data?.count });
  const since = minutesAgo(secondsOf[span]);
  const isLoaded = Boolean(usage.data) && !unfinished.isPending;
  const tiles = [
    ['Requests', count(requests), <RequestsLink key="all" of={{ since }}>{`in the last ${span}`}</RequestsLink>],
    [
      'Errors',
      errors.text,
      <span key="errors" className="row">
        {errors.of}
        <RequestsLink of={{ status: '4xx', since }}>View 4xx</RequestsLink>
        <RequestsLink of={{ status: '5xx', since }}>View 5xx</RequestsLink>
      </span>,
    ],
    [
      'API p95 latency',
      requests > 0 ? durationText(p95_ms / 1000) : '–',
      <RequestsLink key="all" of={{ since }}>{`of ${countText(requests, 'request', 'requests')}`}</RequestsLink>,
    ],
    ['Delivered', deliveries.text, deliveries.of],
  ] as const;
  return (
    <>
      <ErrorNote error={usage.error} />
      <div className="tiles" aria-busy={!isLoaded}>
        {tiles.map(([title, value, about]) => (
          <div className="card tile" key={title}>
            <p className="soft small">{title}</p>
            <p className="value">{isLoaded ? value : '…'}</p>
            <p className="soft small">{isLoaded ? about : '\u00a0'}</p>
          </div>
        ))}
      </div>
      <div className="tiles">
        <div className="card tile">
          <Quota of={data.month} />
        </div>
        {otherTiles}
      </div>
      <div className="charts">
        <ChartCard
          title="Requests"
          actions={<RequestsLink of={{ since }}>View requests</RequestsLink>}
          {...overTime}
          textOf={count}
          series={[
            {
              name: 'successful',
              className: 'chart-1',
              amountOf: (point) => Math.max(0, point.requests - point.client_errors - point.server_errors),
            },
            { name: '4xx', className: 'chart-2', amountOf: (point) => point.client_errors },
            { name: '5xx', className: 'chart-3', amountOf: (point) => point.server_errors },
          ]}
        />
        <ChartCard
          title="API p95 latency"
          {...overTime}
          textOf={(ms) => durationText(ms / 1000)}
          series={[{ name: 'p95', className: 'chart-1', amountOf: (point) => point.p95_ms, total: p95_ms }]}
        />
        <ChartCard
          title="Deliveries"
          {...overTime}
          textOf={count}
          series={[
            { name: 'delivered', className: 'chart-1', amountOf: (point) => point.delivered },
            { name: 'failed', className: 'chart-3', amountOf: (point) => point.failed },
          ]}
        />
        <ChartCard
          title="Failed attempts"
          {...overTime}
          textOf={count}
          series={[{ name: 'failed attempts', className: 'chart-2', amountOf: (point) => point.failed_attempts }]}
        />
      </div>
    </>
  );
}

function ChartCard({
  title,
  actions,
  ...chart
}: { readonly title: string; readonly actions?: ReactNode } & Omit<
  ComponentProps<typeof Chart<UsagePointDocument>>,
  'label'
>) {
  return (
    <Card title={title} actions={actions}>
      <Chart label={title} {...chart} />
    </Card>
  );
}
