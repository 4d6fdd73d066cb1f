import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { NewSecretDocument } from '../../../src/documents/webhook.ts';
import { aboutField } from '../api/client.ts';
import { useTenant, useTenantChange } from '../api/tenant.ts';
import { Button, buttonClass } from '../ui/button.tsx';
import { TextField } from '../ui/field.tsx';
import { ErrorNote } from '../ui/notes.tsx';
import { Card, PageHead } from '../ui/page.tsx';
import { EventChoice } from './event-choice.tsx';
import { ShowSecretDialog } from './show-secret.tsx';

export function NewWebhookPage() {
  const tenant = useTenant();
  const navigate = useNavigate();
  const [events, setEvents] = useState<readonly string[]>(['*']);
  // The same for every try of this form: what was made is not made again.
  const [idempotencyKey] = useState(() => `dashboard-${crypto.randomUUID()}`);
  const [made, setMade] = useState<NewSecretDocument>();
  const create = useTenantChange<NewSecretDocument>(setMade);
  return (
    <>
      <PageHead
        title="Create a webhook"
        crumbs={[
          <Link key="webhooks" to="/w/$workspace/$environment/webhooks" params={tenant}>
            Webhooks
          </Link>,
        ]}
      />
      <Card>
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            const url = String(new FormData(event.currentTarget).get('url')).trim();
            create.mutate({
              method: 'POST',
              path: '/webhooks',
              body: { url, events, idempotency_key: idempotencyKey },
            });
          }}
        >
          <TextField
            label="Endpoint URL"
            name="url"
            inputMode="url"
            placeholder="https://example.com/webhooks"
            hint="A public https address. It has to answer 200 within 10 seconds."
            wrong={aboutField(create.error, 'url')}
            required
            autoFocus
          />
          <EventChoice chosen={events} onChange={setEvents} wrong={aboutField(create.error, 'events')} />
          <ErrorNote error={create.error} fields={['url', 'events']} />
          <div className="row">
            <Button type="submit" look="main" busy={create.isPending}>
              Create webhook
            </Button>
            <Link to="/w/$workspace/$environment/webhooks" params={tenant} className={buttonClass()}>
              Cancel
            </Link>
          </div>
        </form>
      </Card>
      {made ? (
        <ShowSecretDialog
          made={made}
          onClose={() =>
            void navigate({ to: '/w/$workspace/$environment/webhooks/$id', params: { ...tenant, id: made.webhook.id } })
          }
        />
      ) : null}
    </>
  );
}
