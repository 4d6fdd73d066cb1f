import { Link } from '@tanstack/react-router';
import type { DeliveryDocument } from '../../../src/documents/delivery.ts';
import { useTenant, useTenantQuery } from '../api/tenant.ts';
import { ErrorNote, Loading } from '../ui/notes.tsx';
import { Card, Facts } from '../ui/page.tsx';
import { spanText } from '../ui/time.tsx';

const everyMs = 10_000;

/** How the latest deliveries to a webhook went. */
export function WebhookHealthCard({ id }: { readonly id: string }) {
  const tenant = useTenant();
  const { data, error } = useTenantQuery<{ data: readonly DeliveryDocument[] }>('/deliveries', {
    search: { webhook: id },
    everyMs,
  });
  const latest = data?.data ?? [];
  const ended = latest.filter(({ status }) => status === 'delivered' || status === 'failed');
  const delivered = ended.filter(({ status }) => status === 'delivered');
  const retrying = latest.filter(({ status }) => status === 'retrying').length;
  const tookMs = latest.flatMap(({ duration_ms: ms }) => (ms === null ? [] : [ms])).sort((a, b) => a - b);
  const p95Ms = tookMs[Math.max(0, Math.ceil(tookMs.length * 0.95) - 1)];
  return (
    <Card
      title="Health"
      about={`Of the latest ${latest.length} deliveries.`}
      actions={
        <Link
          to="/w/$workspace/$environment/deliveries"
          params={tenant}
          search={{ webhook: id, status: 'failed' }}
          className="small"
        >
          Those that failed
        </Link>
      }
    >
      <ErrorNote error={error} />
      {data ? (
        <Facts
          of={[
            [
              'Delivered',
              ended.length > 0 ? `${Math.floor((delivered.length / ended.length) * 100)} %` : 'none has ended',
            ],
            ['p95 of the last attempt', p95Ms === undefined ? 'no attempt yet' : spanText(p95Ms / 1000)],
            ['Being retried', String(retrying)],
          ]}
        />
      ) : error ? null : (
        <Loading what="health" />
      )}
    </Card>
  );
}
