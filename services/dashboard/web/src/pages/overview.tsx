import { Link, useSearch } from '@tanstack/react-router';
import type { DeliveryDocument } from '../../../src/documents/delivery.ts';
import type { WebhookDocument } from '../../../src/documents/webhook.ts';
import { useTenant, useTenantQuery } from '../api/tenant.ts';
import { Empty, ErrorNote, Loading } from '../ui/notes.tsx';
import { Card, PageHead } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { deliveryColumns } from './delivery-columns.tsx';
import { FirstSteps } from './first-steps.tsx';
import { SpanSwitch, UsageCharts, useUsage } from './overview-usage.tsx';

interface Total {
  readonly total: number;
}

const everyMs = 15_000;
const spanNames = ['hour', 'day', 'month'] as const;

/** What there is, and what needs somebody to look at it. */
export function OverviewPage() {
  const { span: wanted } = useSearch({ from: '/w/$workspace/$environment/' });
  const span = spanNames.find((name) => name === wanted) ?? 'hour';
  const tenant = useTenant();
  const resources = useTenantQuery<Total>('/resources', { everyMs });
  const webhooks = useTenantQuery<Total & { data: readonly WebhookDocument[] }>('/webhooks', { everyMs });
  const failed = useTenantQuery<{ data: readonly DeliveryDocument[] }>('/deliveries', {
    search: { status: 'failed' },
    everyMs,
  });
  const tiles = [
    ['Resources', '/w/$workspace/$environment/resources', resources.data?.total, 'Browse resources'],
    ['Webhooks', '/w/$workspace/$environment/webhooks', webhooks.data?.total, 'See webhooks'],
  ] as const;
  // Begins to be read with the others, though it is shown below what they decide on.
  useUsage(span);
  const isKnown = Boolean(resources.data && webhooks.data) || Boolean(resources.error ?? webhooks.error);
  const isNew = resources.data?.total === 0 && webhooks.data?.total === 0;
  const columns = deliveryColumns(tenant, new Map(webhooks.data?.data.map(({ id, url }) => [id, url])));
  return (
    <>
      <PageHead title="Overview" actions={<SpanSwitch span={span} />} />
      <ErrorNote error={resources.error ?? webhooks.error ?? failed.error} />
      {isNew ? <FirstSteps /> : null}
      {isKnown ? null : <Loading what="the overview" rows={12} />}
      {isKnown ? (
        <UsageCharts
          span={span}
          tiles={tiles.map(([title, to, value, text]) => (
            <div className="card tile" key={title}>
              <p className="soft small">{title}</p>
              <p className="value">{value === undefined ? '…' : value.toLocaleString()}</p>
              <Link to={to} params={tenant} className="small">
                {text}
              </Link>
            </div>
          ))}
        />
      ) : null}
      <Card
        title="Deliveries that failed last"
        flush
        actions={
          <Link
            to="/w/$workspace/$environment/deliveries"
            params={tenant}
            search={{ status: 'failed' }}
            className="small"
          >
            All that failed
          </Link>
        }
      >
        {failed.data ? null : failed.error ? null : <Loading what="deliveries" rows={8} />}
        {failed.data?.data.length === 0 ? (
          <Empty icon="check" title="Nothing has failed">
            Deliveries that all retries could not bring to their endpoint show here.
          </Empty>
        ) : null}
        {failed.data && failed.data.data.length > 0 ? (
          <Table
            label="Deliveries that failed last"
            rows={failed.data.data.slice(0, 8)}
            keyOf={({ id }) => id}
            columns={[columns.event, columns.status, columns.answer, columns.webhook, columns.made]}
          />
        ) : null}
      </Card>
    </>
  );
}
