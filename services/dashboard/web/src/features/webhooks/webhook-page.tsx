import type { RotatedSecret, TestAttempt, Webhook } from '@rms/api';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { type One, useMay, useOptimisticTenantChange, useTenant, useTenantChange } from '../../api/tenant.ts';
import { toast } from '../../toasts.ts';
import { Button, buttonClass } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { CopyableId } from '../../ui/copy.tsx';
import { ErrorNote, Loading, Note } from '../../ui/notes.tsx';
import { Card, DescriptionList, PageHeader } from '../../ui/page.tsx';
import { Time } from '../../ui/time.tsx';
import { AttemptCard } from '../attempts/attempt-card.tsx';
import { useLimits } from '../rules/limits-queries.ts';
import { EditWebhookDialog } from './edit-webhook-dialog.tsx';
import { rateLimitText } from './rate-limit.tsx';
import { RetryPolicyCard } from './retry-policy-card.tsx';
import { RotateSecretDialog } from './rotate-secret-dialog.tsx';
import { ShowSecretDialog, VerificationCode } from './show-secret-dialog.tsx';
import { TestDialog } from './test-dialog.tsx';
import { PendingFail, WebhookHealthCard } from './webhook-health.tsx';
import { useWebhook } from './webhook-queries.ts';
import { eventsText, reasonText, WebhookStatusBadge } from './webhook-status.tsx';

export function WebhookPage() {
  const tenant = useTenant();
  const navigate = useNavigate();
  const { id = '' } = useParams({ strict: false });
  const mayWrite = useMay('webhooks:write');
  const maySend = useMay('deliveries:write');
  const [openDialog, setOpenDialog] = useState<'test' | 'edit' | 'rotate' | 'disable' | 'delete'>();
  const [created, setCreated] = useState<RotatedSecret>();
  const { data: limits } = useLimits();
  const close = () => setOpenDialog(undefined);
  const [tested, setTested] = useState<TestAttempt>();
  const toggle = useOptimisticTenantChange<One<Webhook>, Webhook['status'], One<Webhook>>({
    path: `/webhooks/${id}`,
    change: (status) => ({ method: 'PATCH', path: `/webhooks/${id}`, body: { status } }),
    apply: ({ data }, status) => ({
      data: { ...data, status, disabled_reason: status === 'disabled' ? 'manual' : null },
    }),
    failureMessage: 'The webhook was not changed.',
    onDone: ({ data: { status } }) => toast(`The webhook is ${status}.`),
  });
  // A poll during the change would show the previous status.
  const { data: webhook, error } = useWebhook(id, { everyMs: toggle.isPending ? false : 5_000 });
  const remove = useTenantChange(() => {
    toast('Webhook deleted.');
    void navigate({ to: '/w/$workspace/$environment/webhooks', params: tenant });
  });
  const breadcrumbs = [
    <Link key="webhooks" to="/w/$workspace/$environment/webhooks" params={tenant}>
      Webhooks
    </Link>,
  ];
  if (!webhook) {
    return (
      <>
        <PageHeader title="Webhook" breadcrumbs={breadcrumbs} />
        {error ? <ErrorNote error={error} /> : <Loading what="the webhook" />}
      </>
    );
  }
  const { status } = webhook;
  return (
    <>
      <PageHeader
        title={webhook.url}
        breadcrumbs={breadcrumbs}
        badge={<WebhookStatusBadge of={webhook} />}
        actions={
          <>
            {maySend ? <Button onClick={() => setOpenDialog('test')}>Send test event</Button> : null}
            <Link
              to="/w/$workspace/$environment/deliveries"
              params={tenant}
              search={{ webhook: id }}
              className={buttonClass()}
            >
              Deliveries
            </Link>
            {mayWrite ? (
              <>
                <Button onClick={() => setOpenDialog('edit')}>Edit</Button>
                {status === 'active' ? <Button onClick={() => toggle.mutate('paused')}>Pause</Button> : null}
                {status === 'paused' ? <Button onClick={() => toggle.mutate('active')}>Resume</Button> : null}
                <Button onClick={() => (status === 'disabled' ? toggle.mutate('active') : setOpenDialog('disable'))}>
                  {status === 'disabled' ? 'Enable' : 'Disable'}
                </Button>
                <Button variant="danger" onClick={() => setOpenDialog('delete')}>
                  Delete
                </Button>
              </>
            ) : null}
          </>
        }
      />
      {status === 'paused' ? (
        <Note tone="warn">
          This webhook is paused: deliveries of new events are queued, and none is sent until you resume it.
        </Note>
      ) : null}
      {status === 'disabled' ? (
        <Note tone="warn">
          This webhook is disabled: {reasonText(webhook.disabled_reason, limits)}. New events are recorded as skipped
          and can be redelivered after you enable it.
        </Note>
      ) : null}
      {tested ? (
        <>
          <AttemptCard of={tested} title="Test event" url={webhook.url} requestBody={tested.request.body ?? ''} />
          <p className="small">
            <Link to="/w/$workspace/$environment/deliveries/$id" params={{ ...tenant, id: tested.delivery_id }}>
              Test event in the delivery log
            </Link>
          </p>
        </>
      ) : null}
      <WebhookHealthCard of={webhook} />
      <Card title="Details">
        <DescriptionList
          of={[
            ['ID', <CopyableId key="id" id={webhook.id} />],
            ['Events', eventsText(webhook.events)],
            ...(webhook.description ? [['Description', webhook.description] as const] : []),
            ['Filter', webhook.filter ? <code key="filter">{JSON.stringify(webhook.filter)}</code> : 'none'],
            ['Ordered delivery', webhook.ordered ? 'yes, per resource' : 'no'],
            ['Rate limit', rateLimitText(webhook.rate_limit)],
            ['Timeout', `${webhook.timeout} s`],
            ['Custom headers', headersText(webhook)],
            ['Second signature header', webhook.signature_alias ?? 'none'],
            ['Client certificate', webhook.client_certificate ? 'configured' : 'none'],
            ['Created', <Time key="created" at={webhook.created_at} />],
            ['Updated', <Time key="updated" at={webhook.updated_at} />],
          ]}
        />
      </Card>
      <Card
        title="Signing secret"
        about="Signs every delivery. It cannot be shown again."
        actions={
          mayWrite ? (
            <Button small onClick={() => setOpenDialog('rotate')}>
              Rotate secret
            </Button>
          ) : null
        }
      >
        <div className="stack">
          {webhook.previous_secret_expires_at ? (
            <Note>
              The previous secret also signs until <Time at={webhook.previous_secret_expires_at} />.
            </Note>
          ) : null}
          <VerificationCode />
        </div>
      </Card>
      <RetryPolicyCard key={webhook.updated_at} of={webhook} />
      {openDialog === 'test' ? (
        <TestDialog
          of={webhook}
          onClose={close}
          onTested={(document) => {
            close();
            setTested(document);
          }}
        />
      ) : null}
      {openDialog === 'edit' ? <EditWebhookDialog of={webhook} onClose={close} /> : null}
      {openDialog === 'rotate' ? (
        <RotateSecretDialog
          of={webhook}
          onClose={close}
          onCreated={(document) => {
            close();
            setCreated(document);
          }}
        />
      ) : null}
      {openDialog === 'disable' ? (
        <Confirm
          title={`Disable webhook ${hostOf(webhook.url)}?`}
          action="Disable webhook"
          busy={false}
          error={undefined}
          onClose={close}
          onConfirm={() => {
            close();
            toggle.mutate('disabled');
          }}
        >
          <PendingFail of={webhook} />
          <p>New events are recorded as skipped. After you enable the webhook again, you can redeliver both.</p>
          {status === 'active' ? <p>Pause the webhook instead to keep its pending deliveries.</p> : null}
        </Confirm>
      ) : null}
      {openDialog === 'delete' ? (
        <Confirm
          title={`Delete webhook ${hostOf(webhook.url)}?`}
          action="Delete webhook"
          name={hostOf(webhook.url)}
          busy={remove.isPending}
          error={remove.error}
          onClose={close}
          onConfirm={() => remove.mutate({ method: 'DELETE', path: `/webhooks/${id}` })}
        >
          <PendingFail of={webhook} />
          <p>The delivery log is kept, but its deliveries cannot be redelivered.</p>
        </Confirm>
      ) : null}
      {created ? <ShowSecretDialog created={created} onClose={() => setCreated(undefined)} /> : null}
    </>
  );
}

/** Lists the custom headers' names. */
function headersText({ headers, secret_headers: secret }: Webhook): string {
  const names = [...Object.keys(headers), ...secret.map((name) => `${name} (secret)`)];
  return names.length === 0 ? 'none' : names.join(', ');
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
