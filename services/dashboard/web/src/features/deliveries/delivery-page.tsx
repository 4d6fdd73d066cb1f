import { Link, useParams } from '@tanstack/react-router';
import { Fragment } from 'react';
import { useMay, useTenant, useTenantChange } from '../../api/tenant.ts';
import { deliveryTexts } from '../../texts/deliveries.ts';
import { uiTexts } from '../../texts/ui.ts';
import { toast } from '../../toasts.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock, CopyableId, CopyButton } from '../../ui/copy.tsx';
import { ErrorNote, Loading, Note } from '../../ui/notes.tsx';
import { Card, DescriptionList, PageHeader } from '../../ui/page.tsx';
import { Time } from '../../ui/time.tsx';
import { AttemptCard, curlText } from '../attempts/attempt-card.tsx';
import { DeliveryState, endText } from '../attempts/delivery-status.tsx';
import { useLimits } from '../rules/limits-queries.ts';
import { useWebhook } from '../webhooks/webhook-queries.ts';
import { useDelivery } from './delivery-queries.ts';
import { expiredText } from './log-retention.ts';

export function DeliveryPage() {
  const texts = deliveryTexts();
  const tenant = useTenant();
  const { id = '' } = useParams({ strict: false });
  const maySend = useMay('deliveries:write');
  const mayReadResources = useMay('resources:read');
  const mayReadRequests = useMay('requests:read');
  const mayReadEvents = useMay('events:read');
  const { data: delivery, error, dataUpdatedAt: nowMs } = useDelivery(id);
  const webhook = useWebhook(delivery?.webhook_id);
  const { data: limits } = useLimits();
  const redeliver = useTenantChange(() => toast(texts.redeliveryStarted));
  const cancel = useTenantChange(() => toast(texts.canceled));
  const breadcrumbs = [
    <Link key="deliveries" to="/w/$workspace/$environment/deliveries" params={tenant}>
      {uiTexts().deliveries}
    </Link>,
  ];
  if (!delivery) {
    return (
      <>
        <PageHeader title={texts.delivery} breadcrumbs={breadcrumbs} />
        {error ? <ErrorNote error={error} /> : <Loading label={texts.loading} />}
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
            {url && last ? (
              <CopyButton small={false} label={texts.copyAsCurl} text={curlText(url, last, body)} />
            ) : null}
            {maySend && delivery.ended_at === null ? (
              <Button
                busy={cancel.isPending}
                onClick={() => cancel.mutate({ method: 'POST', path: `/deliveries/${id}/cancel` })}
              >
                {uiTexts().cancel}
              </Button>
            ) : null}
            {maySend && !isTest ? (
              <Button
                variant="main"
                busy={redeliver.isPending}
                onClick={() => redeliver.mutate({ method: 'POST', path: `/deliveries/${id}/redeliver` })}
              >
                {texts.redeliver}
              </Button>
            ) : null}
          </>
        }
      />
      <ErrorNote error={redeliver.error ?? cancel.error} />
      {isTest ? <Note>{texts.ofTest}</Note> : null}
      {delivery.next_attempt_at ? (
        <Note>
          {delivery.delay_reason ? texts.waits[delivery.delay_reason] : null}{' '}
          {Date.parse(delivery.next_attempt_at) > nowMs
            ? texts[delivery.delay_reason ? 'nextOfWebhook' : 'nextAttempt'](<Time at={delivery.next_attempt_at} />)
            : texts.nextNow}
        </Note>
      ) : null}
      {delivery.end_reason === 'expired' ? <Note>{expiredText(limits)}</Note> : null}
      <Card title={texts.details}>
        <DescriptionList
          of={[
            [
              texts.webhook,
              <Link
                key="webhook"
                to="/w/$workspace/$environment/webhooks/$id"
                params={{ ...tenant, id: delivery.webhook_id }}
              >
                {url ?? delivery.webhook_id}
              </Link>,
            ],
            [
              texts.resource,
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
              texts.event,
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
              texts.request,
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
            [texts.created, <Time key="created" at={delivery.created_at} />],
            [texts.origin, originText(delivery.origin)],
            ...(delivery.end_reason ? [[texts.endReason, endText(delivery.end_reason)] as const] : []),
            ...(delivery.trace_id ? [[texts.trace, <code key="trace">{delivery.trace_id}</code>] as const] : []),
          ]}
        />
      </Card>
      {[...delivery.attempts].reverse().map((attempt, index, attempts) => (
        <Fragment key={`${attempt.number} ${attempt.started_at}`}>
          <AttemptCard of={attempt} title={texts.attempt(attempt.number)} requestBody={pretty(body)} url={url} />
          <MissingAttempts after={attempts[index + 1]?.number ?? 0} before={attempt.number} />
        </Fragment>
      ))}
      {delivery.attempts.length === 0 ? (
        <Card title={texts.toSend}>
          <CodeBlock text={pretty(body)} label={texts.requestBody} />
        </Card>
      ) : null}
    </>
  );
}

/** Note that identifies the attempts between two numbers, which are no longer stored. */
function MissingAttempts({ after, before }: { readonly after: number; readonly before: number }) {
  if (before - after <= 1) return null;
  return <Note>{deliveryTexts().missingAttempts(after + 1, before - 1)}</Note>;
}

function originText(origin: string): string {
  const { origins, replay } = deliveryTexts();
  return origin in origins ? origins[origin as keyof typeof origins] : replay(origin);
}

/** Formats JSON with indentation; returns other text unchanged. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
