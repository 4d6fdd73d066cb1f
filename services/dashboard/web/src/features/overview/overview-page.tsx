import { Link, useSearch } from '@tanstack/react-router';
import { useTenant } from '../../api/tenant.ts';
import { numberText } from '../../texts/numbers.ts';
import { Empty, ErrorNote, Loading } from '../../ui/notes.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { failingStatuses } from '../attempts/delivery-status.tsx';
import { deliveryColumns } from '../deliveries/delivery-columns.tsx';
import { useDeliveries } from '../deliveries/delivery-queries.ts';
import { MetricsCharts, RangeSwitch } from '../metrics/metrics-charts.tsx';
import { useDeliveryMetrics, useRequestMetrics } from '../metrics/metrics-queries.ts';
import { rangeOf } from '../metrics/ranges.ts';
import { useResourceTotal } from '../resources/resource-queries.ts';
import { urlsOf, useWebhooks } from '../webhooks/webhook-queries.ts';
import { Attention } from './attention.tsx';
import { FirstSteps } from './first-steps.tsx';
import { needsSteps } from './steps.ts';

const everyMs = 15_000;
const failing = { status: failingStatuses, test: 'false' };

/** Overview page: problems, charts, totals, and recent failures. */
export function OverviewPage() {
  const search = useSearch({ from: '/w/$workspace/$environment/' });
  const range = rangeOf(search, Date.now());
  const tenant = useTenant();
  const resources = useResourceTotal(everyMs);
  const webhooks = useWebhooks(everyMs);
  const failed = useDeliveries(failing, everyMs);
  const tiles = [
    ['Resources', '/w/$workspace/$environment/resources', resources.data, 'Browse resources'],
    ['Webhooks', '/w/$workspace/$environment/webhooks', webhooks.data?.meta.total, 'Browse webhooks'],
  ] as const;
  // Loads the metrics concurrently. MetricsCharts, which shows them, mounts only after resources and webhooks have loaded.
  useRequestMetrics(range);
  useDeliveryMetrics(range);
  const isKnown = Boolean(resources.isSuccess && webhooks.data) || Boolean(resources.error ?? webhooks.error);
  const progress = resources.data !== undefined &&
    webhooks.data && { resources: resources.data, webhooks: webhooks.data.meta.total ?? 0 };
  const columns = deliveryColumns(tenant, urlsOf(webhooks.data));
  return (
    <>
      <PageHeader title="Overview" actions={<RangeSwitch of={search} />} />
      <ErrorNote error={resources.error ?? webhooks.error ?? failed.error} />
      {progress && needsSteps(progress) ? <FirstSteps {...progress} /> : null}
      <Attention />
      {isKnown ? null : <Loading label="Loading the overview" rows={12} />}
      {isKnown ? (
        <MetricsCharts
          of={search}
          tiles={tiles.map(([title, to, value, text]) => (
            <div className="card tile" key={title}>
              <p className="soft small">{title}</p>
              <p className="value">{value == null ? '…' : numberText(value)}</p>
              <Link to={to} params={tenant} className="small">
                {text}
              </Link>
            </div>
          ))}
        />
      ) : null}
      <Card
        title="Failed and retrying deliveries"
        flush
        actions={
          <Link to="/w/$workspace/$environment/deliveries" params={tenant} search={failing} className="small">
            View all
          </Link>
        }
      >
        {failed.data ? null : failed.error ? null : <Loading label="Loading deliveries" rows={8} />}
        {failed.data?.data.length === 0 ? (
          <Empty icon="check" title="No failed deliveries">
            Deliveries whose last attempt failed appear here.
          </Empty>
        ) : null}
        {failed.data && failed.data.data.length > 0 ? (
          <Table
            label="Failed and retrying deliveries"
            rows={failed.data.data.slice(0, 8)}
            keyOf={({ id }) => id}
            columns={[columns.event, columns.status, columns.result, columns.webhook, columns.created]}
          />
        ) : null}
      </Card>
    </>
  );
}
