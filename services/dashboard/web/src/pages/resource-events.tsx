import { Link, useSearch } from '@tanstack/react-router';
import type { ResourceEventDocument } from '../../../src/documents/resource-event.ts';
import type { WebhookDocument } from '../../../src/documents/webhook.ts';
import { useTenant, useTenantQuery } from '../api/tenant.ts';
import { CodeBlock } from '../ui/copy.tsx';
import { Empty, ErrorNote, Loading } from '../ui/notes.tsx';
import { Card } from '../ui/page.tsx';
import { Pager } from '../ui/pager.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { answerText, DeliveryStateBadge } from './delivery-state.tsx';

interface Page {
  readonly data: readonly ResourceEventDocument[];
  readonly next: string | null;
}

/** What happened to a resource, and which webhooks were told of it; also of one that is deleted. */
export function ResourceEventsCard({ id }: { readonly id: string }) {
  const { cursor } = useSearch({ from: '/w/$workspace/$environment/resources/$id' });
  const { data, error } = useTenantQuery<Page>(`/resources/${id}/events`, { search: { cursor } });
  return (
    <Card title="Events" about="What happened to it, newest first, and which webhooks were told." flush>
      <ErrorNote error={error} />
      {data ? null : error ? null : <Loading what="events" />}
      {data?.data.length === 0 ? (
        <Empty icon="deliveries" title="No events are kept">
          Each change of a resource is an event, kept as long as the delivery log. A change of this moment shows when
          the page is loaded again.
        </Empty>
      ) : null}
      {data && data.data.length > 0 ? (
        <Table
          label="Events of this resource"
          rows={data.data}
          keyOf={(event) => event.id}
          columns={[
            { title: 'Event', cell: (event) => <EventCell of={event} /> },
            { title: 'Sequence', number: true, cell: (event) => event.sequence },
            { title: 'Request', cell: (event) => <RequestLink id={event.request_id} /> },
            { title: 'Webhooks', cell: (event) => <Deliveries of={event} /> },
            { title: 'Happened', cell: (event) => <Time at={event.created_at} /> },
          ]}
        />
      ) : null}
      {data ? <Pager next={data.next} /> : null}
    </Card>
  );
}

function EventCell({ of: { id, type, body } }: { readonly of: ResourceEventDocument }) {
  return (
    <div className="stack-small">
      <span>{type}</span>
      <code className="small break">{id}</code>
      <details>
        <summary className="small">Payload</summary>
        {body === null ? (
          <p className="small soft">It was erased with the resource.</p>
        ) : (
          <CodeBlock text={indented(body)} label={`Payload of ${id}`} />
        )}
      </details>
    </div>
  );
}

function RequestLink({ id }: { readonly id: string }) {
  const tenant = useTenant();
  return (
    <Link to="/w/$workspace/$environment/requests" params={tenant} search={{ id }} className="small break">
      {id}
    </Link>
  );
}

function Deliveries({ of: { id, deliveries, has_more_deliveries: hasMore } }: { readonly of: ResourceEventDocument }) {
  const tenant = useTenant();
  const webhooks = useTenantQuery<{ data: readonly WebhookDocument[] }>('/webhooks');
  const urls = new Map(webhooks.data?.data.map((webhook) => [webhook.id, webhook.url]));
  if (deliveries.length === 0) return <span className="soft small">none wanted it</span>;
  return (
    <ul className="stack-small">
      {deliveries.map((delivery) => (
        <li key={delivery.id} className="row">
          <DeliveryStateBadge of={delivery} />
          <Link
            to="/w/$workspace/$environment/deliveries/$id"
            params={{ ...tenant, id: delivery.id }}
            className="small break"
          >
            {urls.get(delivery.webhook_id) ?? delivery.webhook_id}
          </Link>
          <span className="small soft">{delivery.status === 'skipped' ? 'it was disabled' : answerText(delivery)}</span>
        </li>
      ))}
      {hasMore ? (
        <li>
          <Link to="/w/$workspace/$environment/deliveries" params={tenant} search={{ event: id }} className="small">
            All deliveries of it
          </Link>
        </li>
      ) : null}
    </ul>
  );
}

function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
