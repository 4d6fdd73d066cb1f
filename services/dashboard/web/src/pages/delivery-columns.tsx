import { Link } from '@tanstack/react-router';
import type { DeliveryDocument } from '../../../src/documents/delivery.ts';
import type { Tenant } from '../api/tenant.ts';
import type { Column } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { answerText, DeliveryStateBadge } from './delivery-state.tsx';

/**
 * What lists of deliveries show of each.
 *
 * @param urls of webhooks, by their ids; one that is not there is shown by its id
 */
export function deliveryColumns(tenant: Tenant, urls: ReadonlyMap<string, string>) {
  return {
    event: {
      title: 'Event',
      cell: (delivery) => (
        <Link
          to="/w/$workspace/$environment/deliveries/$id"
          params={{ ...tenant, id: delivery.id }}
          className="main-link"
        >
          {delivery.event_type}
        </Link>
      ),
    },
    status: { title: 'Status', cell: (delivery) => <DeliveryStateBadge of={delivery} /> },
    answer: { title: 'Answer', cell: (delivery) => <span className="break">{answerText(delivery)}</span> },
    attempts: { title: 'Attempts', number: true, cell: (delivery) => delivery.attempts },
    webhook: {
      title: 'Webhook',
      cell: (delivery) => <span className="break wide">{urls.get(delivery.webhook_id) ?? delivery.webhook_id}</span>,
    },
    made: { title: 'Made', cell: (delivery) => <Time at={delivery.created_at} /> },
  } satisfies Record<string, Column<DeliveryDocument>>;
}
