import { Link, useParams } from '@tanstack/react-router';
import { Fragment } from 'react';
import { useMay, useTenant, useTenantChange } from '../../api/tenant.ts';
import { toast } from '../../toasts.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock, CopyableId, CopyButton } from '../../ui/copy.tsx';
import { ErrorNote, Loading, Note } from '../../ui/notes.tsx';
import { Card, DescriptionList, PageHeader } from '../../ui/page.tsx';
import { Time } from '../../ui/time.tsx';
import { AttemptCard, curlText } from '../attempts/attempt-card.tsx';
import { DeliveryState, delayText, endText } from '../attempts/delivery-status.tsx';
import { expiredText } from '../rules/limit-texts.ts';
import { useLimits } from '../rules/limits-queries.ts';
import { useWebhook } from '../webhooks/webhook-queries.ts';
import { useDelivery } from './delivery-queries.ts';

export function DeliveryPage() {
  const tenant = useTenant();
  const { id = '' } = useParams({ strict: false });
  const maySend = useMay('deliveries:write');
  const mayReadResources = useMay('resources:read');
  const mayReadRequests = useMay('requests:read');
  const mayReadEvents = useMay('events:read');
  const { data: delivery, error, dataUpdatedAt: nowMs } = useDelivery(id);
  const webhook = useWebhook(delivery?.webhook_id);
  const { data: limits } = useLimits();
  const redeliver = useTenantChange(() => toast('Redelivery started.'));
  const cancel = useTenantChange(() => toast('Delivery canceled.'));
  const breadcrumbs = [
    <Link key="deliveries" to="/w/$workspace/$environment/deliveries" params={tenant}>
      Delivery logs
    </Link>,
  ];
  if (!delivery) {
    return (
      <>
        <PageHeader title="Delivery" breadcrumbs={breadcrumbs} />
        {error ? <ErrorNote error={error} /> : <Loading what="the delivery" />}
      </>
    );
  }
  const last = delivery.attempts.at(-1);
  const isTest = delivery.test;
  const body = delivery.request_body ?? '';
  const url = webhook.data?.url;
  return (
    <>
      <PageHeader
        title={delivery.event_type}
        breadcrumbs={breadcrumbs}
        badge={<DeliveryState of={delivery} />}
        lead={<CopyableId id={delivery.id} />}
        actions={
          <>
            {url && last ? <CopyButton small={false} label="Copy as curl" text={curlText(url, last, body)} /> : null}
            {maySend && delivery.ended_at === null ? (
              <Button
                busy={cancel.isPending}
                onClick={() => cancel.mutate({ method: 'POST', path: `/deliveries/${id}/cancel` })}
              >
                Cancel
              </Button>
            ) : null}
            {maySend && !isTest ? (
              <Button
                variant="main"
                busy={redeliver.isPending}
                onClick={() => redeliver.mutate({ method: 'POST', path: `/deliveries/${id}/redeliver` })}
              >
                Redeliver
              </Button>
            ) : null}
          </>
        }
      />
      <ErrorNote error={redeliver.error ?? cancel.error} />
      {isTest ? (
        <Note>
          A test event about a resource that does not exist. It does not count in success rates, and no alert is sent.
        </Note>
      ) : null}
      {delivery.next_attempt_at ? (
        <Note>
          {delivery.delay_reason ? `The delivery waits ${delayText(delivery.delay_reason)}. ` : ''}
          {Date.parse(delivery.next_attempt_at) > nowMs ? (
            <>
              The next attempt {delivery.delay_reason ? 'of the webhook ' : ''}is due at{' '}
              <Time at={delivery.next_attempt_at} />.
            </>
          ) : (
            'The next attempt is due now.'
          )}
        </Note>
      ) : null}
      {delivery.end_reason === 'expired' ? <Note>{expiredText(limits)}</Note> : null}
      <Card title="Details">
        <DescriptionList
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
              isTest || !mayReadResources || !delivery.resource_id.startsWith('res_') ? (
                <code key="resource">{delivery.resource_id}</code>
              ) : (
                <Link
                  key="resource"
                  to="/w/$workspace/$environment/resources/$id"
                  params={{ ...tenant, id: delivery.resource_id }}
                >
                  <code>{delivery.resource_id}</code>
                </Link>
              ),
            ],
            [
              'Event',
              isTest || !mayReadEvents ? (
                <CopyableId key="event" id={delivery.event_id} />
              ) : (
                <Link
                  key="event"
                  to="/w/$workspace/$environment/events/$id"
                  params={{ ...tenant, id: delivery.event_id }}
                >
                  <code>{delivery.event_id}</code>
                </Link>
              ),
            ],
            [
              'Request',
              mayReadRequests ? (
                <Link
                  key="request"
                  to="/w/$workspace/$environment/requests"
                  params={tenant}
                  search={{ id: delivery.request_id }}
                >
                  <code>{delivery.request_id}</code>
                </Link>
              ) : (
                <code key="request">{delivery.request_id}</code>
              ),
            ],
            ['Created', <Time key="created" at={delivery.created_at} />],
            ['Origin', originText(delivery.origin)],
            ...(delivery.end_reason ? [['End reason', endText(delivery.end_reason)] as const] : []),
            ...(delivery.trace_id ? [['Trace', <code key="trace">{delivery.trace_id}</code>] as const] : []),
          ]}
        />
      </Card>
      {[...delivery.attempts].reverse().map((attempt, index, attempts) => (
        <Fragment key={`${attempt.number} ${attempt.started_at}`}>
          <AttemptCard of={attempt} title={`Attempt ${attempt.number}`} requestBody={pretty(body)} url={url} />
          <MissingAttempts after={attempts[index + 1]?.number ?? 0} before={attempt.number} />
        </Fragment>
      ))}
      {delivery.attempts.length === 0 ? (
        <Card title="Request to be sent">
          <CodeBlock text={pretty(body)} label="Request body" />
        </Card>
      ) : null}
    </>
  );
}

/** Note that identifies the attempts between two numbers, which are no longer stored. */
function MissingAttempts({ after, before }: { readonly after: number; readonly before: number }) {
  const count = before - after - 1;
  if (count <= 0) return null;
  return (
    <Note>
      {count === 1 ? `Attempt ${after + 1} is not stored.` : `Attempts ${after + 1} to ${before - 1} are not stored.`} A
      delivery keeps its first and last attempts: up to 100 attempts and 256 KiB.
    </Note>
  );
}

function originText(origin: string): string {
  if (origin === 'test') return 'test event';
  return origin === 'event' || origin === 'redelivery' ? origin : `replay ${origin}`;
}

/** Formats JSON with indentation; returns other text unchanged. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
