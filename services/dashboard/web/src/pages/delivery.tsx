import { Link, useParams } from '@tanstack/react-router';
import type { FullDeliveryDocument } from '../../../src/documents/delivery.ts';
import type { WebhookDocument } from '../../../src/documents/webhook.ts';
import { useMay, useTenant, useTenantChange, useTenantQuery } from '../api/tenant.ts';
import { Button } from '../ui/button.tsx';
import { CodeBlock, CopyableId, CopyButton } from '../ui/copy.tsx';
import { ErrorNote, Loading, Note } from '../ui/notes.tsx';
import { Card, Facts, PageHead } from '../ui/page.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { AttemptCard, curlText } from './attempt.tsx';
import { DeliveryStateBadge } from './delivery-state.tsx';

const underWayMs = 2_000;

export function DeliveryPage() {
  const tenant = useTenant();
  const { id = '' } = useParams({ strict: false });
  const maySend = useMay('deliveries.send');
  const { data: delivery, error } = useTenantQuery<FullDeliveryDocument>(`/deliveries/${id}`, { everyMs: underWayMs });
  const webhook = useTenantQuery<WebhookDocument>(`/webhooks/${delivery?.webhook_id}`, {
    enabled: delivery !== undefined,
  });
  const redeliver = useTenantChange(() => toast('It is being delivered again.'));
  const crumbs = [
    <Link key="deliveries" to="/w/$workspace/$environment/deliveries" params={tenant}>
      Delivery logs
    </Link>,
  ];
  if (!delivery) {
    return (
      <>
        <PageHead title="Delivery" crumbs={crumbs} />
        {error ? <ErrorNote error={error} /> : <Loading what="the delivery" />}
      </>
    );
  }
  const last = delivery.all_attempts.at(-1);
  const url = webhook.data?.url;
  return (
    <>
      <PageHead
        title={delivery.event_type}
        crumbs={crumbs}
        badge={<DeliveryStateBadge of={delivery} />}
        lead={<CopyableId id={delivery.id} />}
        actions={
          <>
            {url && last ? (
              <CopyButton small={false} label="Copy as curl" text={curlText(url, last, delivery.request_body)} />
            ) : null}
            {maySend ? (
              <Button
                look="main"
                busy={redeliver.isPending}
                onClick={() => redeliver.mutate({ method: 'POST', path: `/deliveries/${id}/redeliver` })}
              >
                Redeliver
              </Button>
            ) : null}
          </>
        }
      />
      <ErrorNote error={redeliver.error} />
      {delivery.next_attempt_at ? (
        <Note>
          The next attempt is due at <Time at={delivery.next_attempt_at} />.
        </Note>
      ) : null}
      <Card title="Details">
        <Facts
          of={[
            [
              'Webhook',
              <Link
                key="webhook"
                to="/w/$workspace/$environment/webhooks/$id"
                params={{ ...tenant, id: delivery.webhook_id }}
              >
                {url ?? delivery.webhook_id}
              </Link>,
            ],
            [
              'Resource',
              <Link
                key="resource"
                to="/w/$workspace/$environment/resources/$id"
                params={{ ...tenant, id: delivery.resource_id }}
              >
                <code>{delivery.resource_id}</code>
              </Link>,
            ],
            ['Event', <CopyableId key="event" id={delivery.event_id} />],
            [
              'Request',
              <Link
                key="request"
                to="/w/$workspace/$environment/requests"
                params={tenant}
                search={{ id: delivery.request_id }}
              >
                <code>{delivery.request_id}</code>
              </Link>,
            ],
            ['Made', <Time key="made" at={delivery.created_at} />],
            ['Why', originText(delivery.origin)],
            ...(delivery.trace_id ? [['Trace', <code key="trace">{delivery.trace_id}</code>] as const] : []),
          ]}
        />
      </Card>
      {[...delivery.all_attempts].reverse().map((attempt) => (
        <AttemptCard
          key={`${attempt.number} ${attempt.started_at}`}
          of={attempt}
          title={`Attempt ${attempt.number}`}
          requestBody={pretty(delivery.request_body)}
          url={url}
        />
      ))}
      {delivery.all_attempts.length === 0 ? (
        <Card title="What will be sent">
          <CodeBlock text={pretty(delivery.request_body)} label="Body of the request" />
        </Card>
      ) : null}
    </>
  );
}

function originText(origin: string): string {
  if (origin === 'event') return 'something happened to the resource';
  return origin === 'redelivery' ? 'it was redelivered' : `replay ${origin}`;
}

/** JSON with line breaks, or the text as it is. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
