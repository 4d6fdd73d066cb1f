import { Link } from '@tanstack/react-router';
import type { ComponentProps, ReactNode } from 'react';
import type { SpanName, UsageDocument, UsagePointDocument } from '../../../src/documents/usage.ts';
import { useTenant, useTenantQuery } from '../api/tenant.ts';
import { Chart } from '../ui/chart.tsx';
import { ErrorNote } from '../ui/notes.tsx';
import { Card } from '../ui/page.tsx';
import { spanText } from '../ui/time.tsx';
import { Quota } from './quota.tsx';

const spans: readonly (readonly [SpanName, string])[] = [
  ['hour', 'Hour'],
  ['day', 'Day'],
  ['month', 'Month'],
];
const everyMs = 10_000;
const parts: Readonly<Record<SpanName, string>> = { hour: 'minute', day: 'hour', month: 'day' };
const times: Readonly<Record<SpanName, Intl.DateTimeFormat>> = {
  hour: new Intl.DateTimeFormat(undefined, { timeStyle: 'short' }),
  day: new Intl.DateTimeFormat(undefined, { weekday: 'short', hour: 'numeric' }),
  month: new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' }),
};
const count = (value: number) => Math.round(value).toLocaleString();

/** Which of the last hour, day or month the charts show. */
export function SpanSwitch({ span }: { readonly span: SpanName }) {
  const tenant = useTenant();
  return (
    <nav className="spans" aria-label="Time">
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

/** What the charts of that time show; read once, whoever asks. */
export function useUsage(span: SpanName) {
  return useTenantQuery<UsageDocument>('/usage', { search: { span }, everyMs });
}

/** What is shown until there is something: as high, so that nothing jumps. */
const nothingYet: UsageDocument = { points: [], month: { used: 0, quota: null, ends_at: null } };

/** Requests, errors, p95, deliveries, and how much of the quota is used. */
export function UsageCharts({
  span,
  tiles: otherTiles,
}: {
  readonly span: SpanName;
  /** Stand beside the quota. */
  readonly tiles: ReactNode;
}) {
  const usage = useUsage(span);
  const data = usage.data ?? nothingYet;
  if (usage.error && !usage.data) {
    return (
      <>
        <ErrorNote error={usage.error} />
        <div className="tiles">{otherTiles}</div>
      </>
    );
  }
  const timeOf = (at: string) => times[span].format(new Date(at));
  const overTime = { points: data.points, timeOf };
  const sum = (amountOf: (point: UsagePointDocument) => number) => data.points.reduce((all, p) => all + amountOf(p), 0);
  const requests = sum((point) => point.requests);
  const errors = sum((point) => point.client_errors + point.server_errors);
  const ended = sum((point) => point.delivered + point.failed);
  const delivered = sum((point) => point.delivered);
  const worstMs = data.points.reduce((most, point) => Math.max(most, point.p95_ms), 0);
  const share = (part: number, all: number) => `${((part / all) * 100).toFixed(1)} %`;
  const tiles = [
    ['Requests', count(requests), `in the last ${span}`],
    ['Errors', requests > 0 ? share(errors, requests) : '–', `${count(errors)} answered 4xx or 5xx`],
    ['p95 of the API', worstMs > 0 ? spanText(worstMs / 1000) : '–', `of the slowest ${parts[span]}`],
    ['Delivered', ended > 0 ? share(delivered, ended) : '–', `${count(ended)} deliveries have ended`],
  ] as const;
  return (
    <>
      <ErrorNote error={usage.error} />
      <div className="tiles" aria-busy={!usage.data}>
        {tiles.map(([title, value, about]) => (
          <div className="card tile" key={title}>
            <p className="soft small">{title}</p>
            <p className="value">{usage.data ? value : '…'}</p>
            <p className="soft small">{usage.data ? about : '\u00a0'}</p>
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
          {...overTime}
          textOf={count}
          series={[
            {
              name: 'answered',
              look: 'chart-1',
              amountOf: (point) => Math.max(0, point.requests - point.client_errors - point.server_errors),
            },
            { name: '4xx', look: 'chart-2', amountOf: (point) => point.client_errors },
            { name: '5xx', look: 'chart-3', amountOf: (point) => point.server_errors },
          ]}
        />
        <ChartCard
          title="p95 of the API"
          {...overTime}
          textOf={(ms) => spanText(ms / 1000)}
          series={[{ name: 'p95', look: 'chart-1', amountOf: (point) => point.p95_ms }]}
        />
        <ChartCard
          title="Deliveries"
          {...overTime}
          textOf={count}
          series={[
            { name: 'delivered', look: 'chart-1', amountOf: (point) => point.delivered },
            { name: 'failed', look: 'chart-3', amountOf: (point) => point.failed },
          ]}
        />
        <ChartCard
          title="Attempts that failed"
          {...overTime}
          textOf={count}
          series={[{ name: 'failed attempts', look: 'chart-2', amountOf: (point) => point.failed_attempts }]}
        />
      </div>
    </>
  );
}

function ChartCard({
  title,
  ...chart
}: { readonly title: string } & Omit<ComponentProps<typeof Chart<UsagePointDocument>>, 'label'>) {
  return (
    <Card title={title}>
      <Chart label={title} {...chart} />
    </Card>
  );
}
