import type { NewWebhook } from '@rms/api';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { fieldError } from '../../api/client.ts';
import { type One, useTenant, useTenantChange } from '../../api/tenant.ts';
import { Button, buttonClass } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { webhookCountText, webhookUrlHint } from '../rules/limit-texts.ts';
import { useLimits } from '../rules/limits-queries.ts';
import { EventChoice } from './event-choice.tsx';
import { RateLimitFields, rateLimitFields, rateLimitOf } from './rate-limit.tsx';
import { ShowSecretDialog } from './show-secret-dialog.tsx';

/** Default rate limit of new webhooks. */
const defaultRateLimit = { max_concurrency: 32, requests_per_second: null };

export function NewWebhookPage() {
  const tenant = useTenant();
  const navigate = useNavigate();
  const [events, setEvents] = useState<readonly string[]>(['*']);
  const [created, setCreated] = useState<NewWebhook>();
  const create = useTenantChange<One<NewWebhook>>(({ data }) => setCreated(data));
  const { data: limits } = useLimits();
  return (
    <>
      <PageHeader
        title="Create webhook"
        lead={webhookCountText(limits)}
        breadcrumbs={[
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
            const form = new FormData(event.currentTarget);
            const url = String(form.get('url')).trim();
            create.mutate({
              method: 'POST',
              path: '/webhooks',
              body: { url, events, rate_limit: rateLimitOf(form) },
            });
          }}
        >
          <TextField
            label="Endpoint URL"
            name="url"
            inputMode="url"
            placeholder="https://example.com/webhooks"
            hint={webhookUrlHint(limits)}
            error={fieldError(create.error, 'url')}
            required
            autoFocus
          />
          <EventChoice selected={events} onChange={setEvents} error={fieldError(create.error, 'events')} />
          <RateLimitFields of={defaultRateLimit} error={create.error} />
          <ErrorNote error={create.error} fields={['url', 'events', ...rateLimitFields]} />
          <div className="row">
            <Button type="submit" variant="main" busy={create.isPending}>
              Create webhook
            </Button>
            <Link to="/w/$workspace/$environment/webhooks" params={tenant} className={buttonClass()}>
              Cancel
            </Link>
          </div>
        </form>
      </Card>
      {created ? (
        <ShowSecretDialog
          created={created}
          onClose={() =>
            void navigate({ to: '/w/$workspace/$environment/webhooks/$id', params: { ...tenant, id: created.id } })
          }
        />
      ) : null}
    </>
  );
}
