import type { RotatedSecret, TestAttempt, Webhook } from '@rms/api';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { type One, useMay, useOptimisticTenantChange, useTenant, useTenantChange } from '../../api/tenant.ts';
import { numberText } from '../../texts/numbers.ts';
import { uiTexts } from '../../texts/ui.ts';
import { webhookTexts } from '../../texts/webhooks.ts';
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
import { RetryPolicyCard } from './retry-policy-card.tsx';
import { RotateSecretDialog } from './rotate-secret-dialog.tsx';
import { ShowSecretDialog, VerificationCode } from './show-secret-dialog.tsx';
import { TestDialog } from './test-dialog.tsx';
import { PendingFail, WebhookHealthCard } from './webhook-health.tsx';
import { useWebhook } from './webhook-queries.ts';
import { eventsText, reasonText, WebhookStatusBadge } from './webhook-status.tsx';

export function WebhookPage() {
  const texts = webhookTexts();
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
    failureMessage: texts.unchanged,
    onDone: ({ data: { status } }) => toast(texts.changed[status]),
  });
  // A poll during the change would show the previous status.
  const { data: webhook, error } = useWebhook(id, { everyMs: toggle.isPending ? false : 5_000 });
  const remove = useTenantChange(() => {
    toast(texts.deleted);
    void navigate({ to: '/w/$workspace/$environment/webhooks', params: tenant });
  });
  const breadcrumbs = [
    <Link key="webhooks" to="/w/$workspace/$environment/webhooks" params={tenant}>
      {uiTexts().webhooks}
    </Link>,
  ];
  if (!webhook) {
    return (
      <>
        <PageHeader title={texts.webhook} breadcrumbs={breadcrumbs} />
        {error ? <ErrorNote error={error} /> : <Loading label={texts.loading} />}
      </>
    );
  }
  const { status } = webhook;
  const { max_concurrency, requests_per_second } = webhook.rate_limit;
  const { none } = uiTexts();
  return (
    <>
      <PageHeader
        title={webhook.url}
        breadcrumbs={breadcrumbs}
        badge={<WebhookStatusBadge of={webhook} />}
        actions={
          <>
            {maySend ? <Button onClick={() => setOpenDialog('test')}>{texts.test}</Button> : null}
            <Link
              to="/w/$workspace/$environment/deliveries"
              params={tenant}
              search={{ webhook: id }}
              className={buttonClass()}
            >
              {texts.deliveries}
            </Link>
            {mayWrite ? (
              <>
                <Button onClick={() => setOpenDialog('edit')}>{texts.edit}</Button>
                {status === 'active' ? <Button onClick={() => toggle.mutate('paused')}>{texts.pause}</Button> : null}
                {status === 'paused' ? <Button onClick={() => toggle.mutate('active')}>{texts.resume}</Button> : null}
                <Button onClick={() => (status === 'disabled' ? toggle.mutate('active') : setOpenDialog('disable'))}>
                  {status === 'disabled' ? texts.enable : texts.disable}
                </Button>
                <Button variant="danger" onClick={() => setOpenDialog('delete')}>
                  {texts.delete}
                </Button>
              </>
            ) : null}
          </>
        }
      />
      {status === 'paused' ? <Note tone="warn">{texts.paused}</Note> : null}
      {status === 'disabled' ? (
        <Note tone="warn">{texts.disabled(reasonText(webhook.disabled_reason, limits))}</Note>
      ) : null}
      {tested ? (
        <>
          <AttemptCard of={tested} title={texts.testEvent} url={webhook.url} requestBody={tested.request.body ?? ''} />
          <p className="small">
            <Link to="/w/$workspace/$environment/deliveries/$id" params={{ ...tenant, id: tested.delivery_id }}>
              {texts.testInLog}
            </Link>
          </p>
        </>
      ) : null}
      <WebhookHealthCard of={webhook} />
      <Card title={texts.details}>
        <DescriptionList
          of={[
            [texts.id, <CopyableId key="id" id={webhook.id} />],
            [texts.events, eventsText(webhook.events)],
            ...(webhook.description ? [[texts.description, webhook.description] as const] : []),
            [texts.filter, webhook.filter ? <code key="filter">{JSON.stringify(webhook.filter)}</code> : none],
            [texts.orderedDelivery, webhook.ordered ? texts.ordered.yes : texts.ordered.no],
            [texts.rateLimit, texts.rateLimitOf(max_concurrency, requests_per_second)],
            [texts.timeout, uiTexts().units.s(numberText(webhook.timeout))],
            [texts.headers, headersText(webhook)],
            [texts.alias, webhook.signature_alias ?? none],
            [texts.clientCertificate, webhook.client_certificate ? texts.configured : none],
            [texts.created, <Time key="created" at={webhook.created_at} />],
            [texts.updated, <Time key="updated" at={webhook.updated_at} />],
          ]}
        />
      </Card>
      <Card
        title={texts.secret}
        about={texts.secretAbout}
        actions={
          mayWrite ? (
            <Button small onClick={() => setOpenDialog('rotate')}>
              {texts.rotate}
            </Button>
          ) : null
        }
      >
        <div className="stack">
          {webhook.previous_secret_expires_at ? (
            <Note>{texts.previousSecret(<Time at={webhook.previous_secret_expires_at} />)}</Note>
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
          title={texts.disableTitle(hostOf(webhook.url))}
          action={texts.disableWebhook}
          busy={false}
          error={undefined}
          onClose={close}
          onConfirm={() => {
            close();
            toggle.mutate('disabled');
          }}
        >
          <PendingFail of={webhook} />
          <p>{texts.disableEffect}</p>
          {status === 'active' ? <p>{texts.pauseInstead}</p> : null}
        </Confirm>
      ) : null}
      {openDialog === 'delete' ? (
        <Confirm
          title={texts.deleteTitle(hostOf(webhook.url))}
          action={texts.deleteWebhook}
          name={hostOf(webhook.url)}
          busy={remove.isPending}
          error={remove.error}
          onClose={close}
          onConfirm={() => remove.mutate({ method: 'DELETE', path: `/webhooks/${id}` })}
        >
          <PendingFail of={webhook} />
          <p>{texts.deleteEffect}</p>
        </Confirm>
      ) : null}
      {created ? <ShowSecretDialog created={created} onClose={() => setCreated(undefined)} /> : null}
    </>
  );
}

/** Lists the custom headers' names. */
function headersText({ headers, secret_headers: secret }: Webhook): string {
  const names = [...Object.keys(headers), ...secret.map(webhookTexts().secretHeader)];
  return names.length === 0 ? uiTexts().none : names.join(', ');
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
