import type { Delivery } from '@rms/api';
import { Link } from '@tanstack/react-router';
import type { Tenant } from '../../api/tenant.ts';
import { deliveryTexts } from '../../texts/deliveries.ts';
import { Badge } from '../../ui/badge.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { DeliveryState, resultText } from '../attempts/delivery-status.tsx';

/**
 * Columns of delivery lists.
 *
 * @param urls webhook URLs by ID; a webhook without a URL is shown by its ID
 */
export function deliveryColumns(tenant: Tenant, urls: ReadonlyMap<string, string>) {
  const texts = deliveryTexts();
  return {
    event: {
      title: texts.event,
      cell: (delivery) => (
        <span className="row">
          <Link
            to="/w/$workspace/$environment/deliveries/$id"
            params={{ ...tenant, id: delivery.id }}
            className="main-link"
          >
            <EventType of={delivery.event_type} />
          </Link>
          {delivery.test ? <Badge>{texts.test}</Badge> : null}
        </span>
      ),
    },
    status: { title: texts.status, cell: (delivery) => <DeliveryState of={delivery} /> },
    result: {
      title: texts.result,
      cell: (delivery) => <span className="break">{resultText(delivery.last_attempt)}</span>,
    },
    attempts: { title: texts.attempts, number: true, cell: (delivery) => delivery.attempt_count },
    webhook: {
      title: texts.webhook,
      cell: (delivery) => <span className="break wide">{urls.get(delivery.webhook_id) ?? delivery.webhook_id}</span>,
    },
    created: { title: texts.created, cell: (delivery) => <Time at={delivery.created_at} /> },
  } satisfies Record<string, Column<Delivery>>;
}

/** An event type, for example resource.created. A narrow column breaks it after the point. */
function EventType({ of }: { of: string }) {
  const [object, ...rest] = of.split('.');
  return (
    <span translate="no">
      {object}.<wbr />
      {rest.join('.')}
    </span>
  );
}
