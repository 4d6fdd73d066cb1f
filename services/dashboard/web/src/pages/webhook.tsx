import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { AttemptDocument } from '../../../src/documents/delivery.ts';
import type { NewSecretDocument, WebhookDocument } from '../../../src/documents/webhook.ts';
import { useMay, useOptimisticTenantChange, useTenant, useTenantChange, useTenantQuery } from '../api/tenant.ts';
import { Button, buttonClass } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { CopyableId } from '../ui/copy.tsx';
import { ErrorNote, Loading, Note } from '../ui/notes.tsx';
import { Card, Facts, PageHead } from '../ui/page.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { AttemptCard } from './attempt.tsx';
import { EditWebhookDialog } from './edit-webhook.tsx';
import { RetryPolicyCard } from './retry-policy.tsx';
import { RotateSecretDialog } from './rotate-secret.tsx';
import { ShowSecretDialog, VerificationCode } from './show-secret.tsx';
import { WebhookHealthCard } from './webhook-health.tsx';
import { eventsText, reasonText, WebhookStateBadge } from './webhook-state.tsx';

export function WebhookPage() {
  const tenant = useTenant();
  const navigate = useNavigate();
  const { id = '' } = useParams({ strict: false });
  const mayWrite = useMay('webhooks.write');
  const maySend = useMay('deliveries.send');
  const { data: webhook, error } = useTenantQuery<WebhookDocument>(`/webhooks/${id}`);
  const [doing, setDoing] = useState<'edit' | 'rotate' | 'delete'>();
  const [made, setMade] = useState<NewSecretDocument>();
  const close = () => setDoing(undefined);
  const test = useTenantChange<AttemptDocument>();
  const turn = useOptimisticTenantChange<WebhookDocument, WebhookDocument['status'], WebhookDocument>({
    path: `/webhooks/${id}`,
    change: (status) => ({ method: 'PATCH', path: `/webhooks/${id}`, body: { status } }),
    apply: (shown, status) => ({ ...shown, status, disable_reason: status === 'active' ? null : 'manual' }),
    undone: 'The webhook is as it was.',
    onDone: ({ status }) => toast(`The webhook is ${status}.`),
  });
  const remove = useTenantChange(() => {
    toast('The webhook is deleted.');
    void navigate({ to: '/w/$workspace/$environment/webhooks', params: tenant });
  });
  const crumbs = [
    <Link key="webhooks" to="/w/$workspace/$environment/webhooks" params={tenant}>
      Webhooks
    </Link>,
  ];
  if (!webhook) {
    return (
      <>
        <PageHead title="Webhook" crumbs={crumbs} />
        {error ? <ErrorNote error={error} /> : <Loading what="the webhook" />}
      </>
    );
  }
  const isActive = webhook.status === 'active';
  return (
    <>
      <PageHead
        title={webhook.url}
        crumbs={crumbs}
        badge={<WebhookStateBadge of={webhook} />}
        actions={
          <>
            {maySend ? (
              <Button
                busy={test.isPending}
                onClick={() => test.mutate({ method: 'POST', path: `/webhooks/${id}/test` })}
              >
                Send test event
              </Button>
            ) : null}
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
                <Button onClick={() => setDoing('edit')}>Edit</Button>
                <Button onClick={() => turn.mutate(isActive ? 'disabled' : 'active')}>
                  {isActive ? 'Disable' : 'Enable'}
                </Button>
                <Button look="danger" onClick={() => setDoing('delete')}>
                  Delete
                </Button>
              </>
            ) : null}
          </>
        }
      />
      {isActive ? null : (
        <Note tone="warn">
          Nothing is delivered: {reasonText(webhook.disable_reason)}. Events that come meanwhile are kept as skipped,
          and can be sent once it is enabled.
        </Note>
      )}
      <ErrorNote error={test.error} />
      {test.data ? <AttemptCard of={test.data} title="Test event" url={webhook.url} /> : null}
      <WebhookHealthCard id={id} />
      <Card title="Details">
        <Facts
          of={[
            ['Id', <CopyableId key="id" id={webhook.id} />],
            ['Events', eventsText(webhook.events)],
            ['Order', webhook.ordered ? 'one delivery of a resource at a time, in order' : 'as fast as possible'],
            ['Client certificate', webhook.has_client_certificate ? 'shown to the endpoint' : 'none'],
            ['Created', <Time key="created" at={webhook.created_at} />],
            ['Changed', <Time key="updated" at={webhook.updated_at} />],
          ]}
        />
      </Card>
      <Card
        title="Signing secret"
        about="Signs each delivery. It is not shown again."
        actions={
          mayWrite ? (
            <Button small onClick={() => setDoing('rotate')}>
              Rotate secret
            </Button>
          ) : null
        }
      >
        <div className="stack">
          {webhook.previous_secret_expires_at ? (
            <Note>
              The secret before signs as well until <Time at={webhook.previous_secret_expires_at} />.
            </Note>
          ) : null}
          <VerificationCode />
        </div>
      </Card>
      <RetryPolicyCard key={webhook.updated_at} of={webhook} />
      {doing === 'edit' ? <EditWebhookDialog of={webhook} onClose={close} /> : null}
      {doing === 'rotate' ? (
        <RotateSecretDialog
          of={webhook}
          onClose={close}
          onMade={(document) => {
            close();
            setMade(document);
          }}
        />
      ) : null}
      {doing === 'delete' ? (
        <Confirm
          title="Delete this webhook?"
          action="Delete webhook"
          name={hostOf(webhook.url)}
          busy={remove.isPending}
          error={remove.error}
          onClose={close}
          onConfirm={() => remove.mutate({ method: 'DELETE', path: `/webhooks/${id}` })}
        >
          <p>What has not been delivered yet never will be. Its delivery log stays.</p>
        </Confirm>
      ) : null}
      {made ? <ShowSecretDialog made={made} onClose={() => setMade(undefined)} /> : null}
    </>
  );
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
