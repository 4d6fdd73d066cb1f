import type { Workspace } from '@rms/api';
import { useMay, useTenant } from '../../api/tenant.ts';
import { numberText, plural } from '../../texts/numbers.ts';
import { Empty, ErrorNote, Loading } from '../../ui/notes.tsx';
import { Card, DescriptionList, PageHeader } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { useKeysWithOwnLimit } from '../keys/key-queries.ts';
import { KeyLink } from '../keys/key-status.tsx';
import { useWorkspace } from '../metrics/metrics-queries.ts';
import { Quota } from '../metrics/quota.tsx';
import { daysText, maximumText, rateText, requestLogText } from '../rules/limit-texts.ts';
import { useLimits } from '../rules/limits-queries.ts';

/** Page with the workspace's limits and its keys. */
export function LimitsPage() {
  const { data, error } = useLimits();
  const workspace = useWorkspace();
  const { environment } = useTenant();
  const mayKeys = useMay('keys:read');
  return (
    <>
      <PageHeader
        title="Limits"
        lead="Requests beyond a rate limit or the quota get a 429 response with a Retry-After header."
      />
      <Card title="Workspace limits" about={data?.plan ? `Set by plan ${data.plan}.` : 'Set by this installation.'}>
        <ErrorNote error={error} />
        {data ? (
          <DescriptionList
            of={[
              ['Requests per key', rateText(data.limits.requests_per_window, data.limits.window_seconds)],
              [
                'Requests of all keys',
                `${rateText(data.limits.workspace_requests_per_window, data.limits.window_seconds)}${data.limits.workspace_requests_per_window === null ? '' : ' and environment'}`,
              ],
              [
                'Requests per month',
                data.limits.requests_per_month === null
                  ? 'no limit'
                  : `${numberText(data.limits.requests_per_month)} per environment`,
              ],
              ['Month start', 'first day of the month, 00:00 UTC'],
              ['Valid keys', countOf(workspace.data?.objects.keys, data.max_keys)],
              ['Webhooks', countOf(workspace.data?.objects.webhooks, data.max_webhooks)],
              ['Members', maximumText(data.max_members)],
              ['Open invitations', maximumText(data.max_invitations)],
              ['Delivery log and events', daysText(data.delivery_log_days)],
              ['Request log', requestLogText(data)],
              [
                'Failing webhooks',
                data.webhook_disable_after_hours === 0
                  ? 'never disabled'
                  : `disabled after ${plural(data.webhook_disable_after_hours, { one: '# hour', other: '# hours' })} without a success`,
              ],
            ]}
          />
        ) : error ? null : (
          <Loading label="Loading limits" />
        )}
      </Card>
      <Card title="Usage this month" about={`For ${environment === 'live' ? 'live' : 'the sandbox'}.`}>
        <ErrorNote error={workspace.error} />
        {workspace.data ? <Quota of={workspace.data} /> : workspace.error ? null : <Loading label="Loading usage" />}
      </Card>
      {mayKeys ? <KeysWithOwnLimits /> : null}
    </>
  );
}

/** Formats a limit with the number of objects, if that is known: "3 of at most 1,000". */
function countOf(objects: Workspace['objects']['webhooks'] | undefined, maximum: number): string {
  const most = maximumText(maximum);
  return objects ? `${numberText(objects.count)}${maximum === 0 ? ', ' : ' of '}${most}` : most;
}

function KeysWithOwnLimits() {
  const { data, error } = useKeysWithOwnLimit();
  const rows = data?.data ?? [];
  return (
    <Card title="Keys with their own limit" flush>
      <ErrorNote error={error} />
      {data ? null : error ? null : <Loading label="Loading keys" rows={1} />}
      {data && rows.length === 0 ? (
        <Empty icon="limits" title="No keys with own limits">
          Set a limit for a key on its page.
        </Empty>
      ) : data ? (
        <Table
          label="Keys with their own limit"
          rows={rows}
          keyOf={({ id }) => id}
          columns={[
            { title: 'Name', cell: (key) => <KeyLink of={key} /> },
            {
              title: 'Requests',
              number: true,
              cell: (key) => (key.rate_limit === null ? '' : numberText(key.rate_limit)),
            },
          ]}
        />
      ) : null}
      {data?.links.next ? <div className="table-foot">The {rows.length} most recent keys are shown.</div> : null}
    </Card>
  );
}
