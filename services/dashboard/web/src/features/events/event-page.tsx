import { Link, useParams } from '@tanstack/react-router';
import { useMay, useTenant } from '../../api/tenant.ts';
import { CodeBlock, CopyableId } from '../../ui/copy.tsx';
import { Empty, ErrorNote, Loading } from '../../ui/notes.tsx';
import { Card, DescriptionList, PageHeader } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { deliveryColumns } from '../deliveries/delivery-columns.tsx';
import { useDeliveries } from '../deliveries/delivery-queries.ts';
import { urlsOf, useWebhooks } from '../webhooks/webhook-queries.ts';
import { useEvent } from './event-queries.ts';
import { EventSubject } from './event-subject.tsx';

/** Page with an event, its cause and its deliveries. */
export function EventPage() {
  const tenant = useTenant();
  const { id = '' } = useParams({ strict: false });
  const mayReadRequests = useMay('requests:read');
  const { data: event, error } = useEvent(id);
  const breadcrumbs = [
    <Link key="events" to="/w/$workspace/$environment/events" params={tenant}>
      Events
    </Link>,
  ];
  if (!event) {
    return (
      <>
        <PageHeader title="Event" breadcrumbs={breadcrumbs} />
        {error ? <ErrorNote error={error} /> : <Loading label="Loading the event" />}
      </>
    );
  }
  const { request_id: request, ...document } = event;
  return (
    <>
      <PageHeader title={event.type} breadcrumbs={breadcrumbs} lead={<CopyableId id={event.id} />} />
      <Card title="Details">
        <DescriptionList
          of={[
            ['Object', <EventSubject key="object" of={event} />],
            [
              'Request',
              mayReadRequests && request !== '' ? (
                <Link key="request" to="/w/$workspace/$environment/requests" params={tenant} search={{ id: request }}>
                  <code>{request}</code>
                </Link>
              ) : (
                <code key="request">{request || 'none'}</code>
              ),
            ],
            ['Sequence', event.sequence],
            ['Created', <Time key="created" at={event.created_at ?? null} />],
          ]}
        />
      </Card>
      <Card title="API representation">
        <CodeBlock text={JSON.stringify(document, null, 2)} label="Event JSON" />
      </Card>
      <DeliveriesOfEvent id={id} />
    </>
  );
}

/** Card with the newest deliveries of an event. */
function DeliveriesOfEvent({ id }: { readonly id: string }) {
  const tenant = useTenant();
  const { data, error } = useDeliveries({ event: id }, 3_000);
  const urls = urlsOf(useWebhooks().data);
  return (
    <Card
      title="Deliveries"
      actions={
        <Link to="/w/$workspace/$environment/deliveries" params={tenant} search={{ event: id }} className="small">
          Delivery logs
        </Link>
      }
      flush
    >
      <ErrorNote error={error} />
      {data ? null : error ? null : <Loading label="Loading deliveries" rows={2} />}
      {data?.data.length === 0 ? (
        <Empty icon="deliveries" title="No deliveries">
          No webhook received this event, or the deliveries are no longer stored.
        </Empty>
      ) : null}
      {data && data.data.length > 0 ? (
        <Table
          label="Deliveries of this event"
          rows={data.data}
          keyOf={(delivery) => delivery.id}
          columns={Object.values(deliveryColumns(tenant, urls))}
        />
      ) : null}
    </Card>
  );
}
