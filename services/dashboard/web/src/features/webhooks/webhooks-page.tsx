import { Link, useSearch } from '@tanstack/react-router';
import { cursorOf, useMay, useTenant } from '../../api/tenant.ts';
import { buttonClass } from '../../ui/button.tsx';
import { Empty, ErrorNote, Loading } from '../../ui/notes.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { Pager } from '../../ui/pager.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { WebhookHealthSummary } from './webhook-health.tsx';
import { useWebhooksWithHealth } from './webhook-queries.ts';
import { eventsText, WebhookStatusBadge } from './webhook-status.tsx';

export function WebhooksPage() {
  const tenant = useTenant();
  const { cursor } = useSearch({ from: '/w/$workspace/$environment/webhooks' });
  const mayWrite = useMay('webhooks:write');
  const { data, error } = useWebhooksWithHealth(cursor);
  const create = mayWrite ? (
    <Link to="/w/$workspace/$environment/webhooks/new" params={tenant} className={buttonClass('main')}>
      Create webhook
    </Link>
  ) : null;
  return (
    <>
      <PageHeader title="Webhooks" lead="Endpoints that receive the events of your resources." actions={create} />
      <Card flush>
        <ErrorNote error={error} />
        {data ? null : error ? null : <Loading what="webhooks" rows={6} />}
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
