import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { cursorOf, useMay, useTenant } from '../../api/tenant.ts';
import { withoutEmpty } from '../../search.ts';
import { buttonClass } from '../../ui/button.tsx';
import { SelectField } from '../../ui/field.tsx';
import { TextFilter } from '../../ui/filters.tsx';
import { Empty, ErrorNote, Loading } from '../../ui/notes.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { Pager } from '../../ui/pager.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { WebhookHealthSummary } from './webhook-health.tsx';
import { useWebhooksWithHealth, type WebhookFilter } from './webhook-queries.ts';
import { eventsText, WebhookStatusBadge } from './webhook-status.tsx';

const from = '/w/$workspace/$environment/webhooks';
const statusOptions = [
  ['', 'Any status'],
  ['active', 'Active'],
  ['paused', 'Paused'],
  ['disabled', 'Disabled'],
] as const;
const healthOptions = [
  ['', 'Any health'],
  ['healthy', 'Healthy'],
  ['failing', 'Failing'],
  ['paused', 'Paused'],
  ['disabled', 'Disabled'],
] as const;

export function WebhooksPage() {
  const tenant = useTenant();
  const search = useSearch({ from });
  const navigate = useNavigate({ from });
  const mayWrite = useMay('webhooks:write');
  const { data, error } = useWebhooksWithHealth(search);
  const { cursor: _, ...filter } = search;
  const isFiltered = Object.keys(filter).length > 0;
  const set = (changes: WebhookFilter) =>
    void navigate({ search: withoutEmpty({ ...filter, ...changes }), replace: true });
  const create = mayWrite ? (
    <Link to="/w/$workspace/$environment/webhooks/new" params={tenant} className={buttonClass('main')}>
      Create webhook
    </Link>
  ) : null;
  return (
    <>
      <PageHeader title="Webhooks" lead="Endpoints that receive the events of your resources." actions={create} />
      <Card title="Filters">
        <div className="filters">
          <TextFilter
            label="URL"
            value={filter.url}
            placeholder="https://example.com/hooks"
            onSet={(url) => set({ url })}
          />
          <SelectField
            label="Status"
            value={filter.status ?? ''}
            options={statusOptions}
            onChange={(event) => set({ status: event.target.value })}
          />
          <SelectField
            label="Health"
            value={filter.health ?? ''}
            options={healthOptions}
            onChange={(event) => set({ health: event.target.value })}
          />
        </div>
      </Card>
      <Card flush>
        <ErrorNote error={error} />
        {data ? null : error ? null : <Loading what="webhooks" rows={6} />}
        {data?.data.length === 0 && isFiltered ? (
          <Empty icon="webhooks" title="No matching webhooks">
            {data.links.next
              ? 'No webhook on this page matches. Open the next page, or change the filters.'
              : 'Change the filters.'}
          </Empty>
        ) : null}
        {data?.meta.total === 0 ? (
          <Empty icon="webhooks" title="No webhooks yet" action={create}>
            Create one with the URL of your endpoint. Deliveries are signed, retried and logged.
          </Empty>
        ) : null}
        {data && data.data.length > 0 ? (
          <Table
            label="Webhooks"
            rows={data.data}
            keyOf={({ id }) => id}
            columns={[
              {
                title: 'Endpoint',
                cell: (webhook) => (
                  <Link
                    to="/w/$workspace/$environment/webhooks/$id"
                    params={{ ...tenant, id: webhook.id }}
                    className="main-link break"
                  >
                    {webhook.url}
                  </Link>
                ),
              },
              { title: 'Events', cell: (webhook) => <span className="break">{eventsText(webhook.events)}</span> },
              { title: 'Status', cell: (webhook) => <WebhookStatusBadge of={webhook} /> },
              { title: 'Health', cell: (webhook) => <WebhookHealthSummary of={webhook.health} /> },
              { title: 'Created', cell: (webhook) => <Time at={webhook.created_at} /> },
            ]}
          />
        ) : null}
        {data ? (
          <Pager
            total={data.meta.total ?? undefined}
            next={cursorOf(data.links.next)}
            previous={cursorOf(data.links.prev)}
          />
        ) : null}
      </Card>
    </>
  );
}
