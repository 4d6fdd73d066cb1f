import type { KeyDocument } from '../../../src/documents/key.ts';
import type { LimitsDocument } from '../../../src/documents/limits.ts';
import type { UsageDocument } from '../../../src/documents/usage.ts';
import { useMay, useTenant, useTenantQuery } from '../api/tenant.ts';
import { Empty, ErrorNote, Loading } from '../ui/notes.tsx';
import { Card, Facts, PageHead } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { spanText } from '../ui/time.tsx';
import { KeyLink, works } from './key-state.tsx';
import { Quota } from './quota.tsx';

/** What keys may do here. */
export function LimitsPage() {
  const { data, error } = useTenantQuery<LimitsDocument>('/limits');
  const usage = useTenantQuery<UsageDocument>('/usage', { everyMs: 10_000 });
  const { environment } = useTenant();
  const mayKeys = useMay('keys.read');
  return (
    <>
      <PageHead title="Limits" lead="What is beyond them is answered 429, with the time after which to try again." />
      <Card title="Of this workspace" about={data?.plan ? `By the plan ${data.plan}.` : 'As this installation is set.'}>
        <ErrorNote error={error} />
        {data ? (
          <Facts
            of={[
              [
                'Requests of each key',
                data.rate_limit_requests === 0
                  ? 'no limit'
                  : `${data.rate_limit_requests.toLocaleString()} in ${spanText(data.rate_limit_window_seconds)}`,
              ],
              [
                'Requests in a month',
                data.monthly_quota === 0 ? 'no limit' : `${data.monthly_quota.toLocaleString()}, each environment`,
              ],
              ['A month begins', 'on its first day, 00:00 UTC'],
            ]}
          />
        ) : error ? null : (
          <Loading what="limits" />
        )}
      </Card>
      <Card title="Used this month" about={`In ${environment === 'live' ? 'live' : 'the sandbox'}.`}>
        <ErrorNote error={usage.error} />
        {usage.data ? <Quota of={usage.data.month} /> : usage.error ? null : <Loading what="usage" />}
      </Card>
      {mayKeys ? <KeysWithOwnLimits /> : null}
    </>
  );
}

function KeysWithOwnLimits() {
  const { data, error } = useTenantQuery<{ data: readonly KeyDocument[] }>('/keys');
  const rows = (data?.data ?? []).filter((key) => works(key) && key.rate_limit_requests !== null);
  return (
    <Card title="Keys with a limit of their own" flush>
      <ErrorNote error={error} />
      {data ? null : error ? null : <Loading what="keys" rows={1} />}
      {data && rows.length === 0 ? (
        <Empty icon="limits" title="None">
          A key can be given another number of requests on its page.
        </Empty>
      ) : data ? (
        <Table
          label="Keys with a limit of their own"
          rows={rows}
          keyOf={({ id }) => id}
          columns={[
            { title: 'Name', cell: (key) => <KeyLink of={key} /> },
            {
              title: 'Requests',
              number: true,
              cell: (key) => (key.rate_limit_requests === 0 ? 'no limit' : key.rate_limit_requests?.toLocaleString()),
            },
          ]}
        />
      ) : null}
    </Card>
  );
}
