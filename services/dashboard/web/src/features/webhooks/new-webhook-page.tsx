import type { NewWebhook } from '@rms/api';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { fieldError } from '../../api/client.ts';
import { type One, useTenant, useTenantChange } from '../../api/tenant.ts';
import { Button, buttonClass } from '../../ui/button.tsx';
import { Choice, TextField } from '../../ui/field.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { webhookCountText, webhookUrlHint } from '../rules/limit-texts.ts';
import { useLimits } from '../rules/limits-queries.ts';
import { newSettings, settingsFields, useSettings } from './settings-fields.tsx';
import { ShowSecretDialog } from './show-secret-dialog.tsx';

export function NewWebhookPage() {
  const tenant = useTenant();
  const navigate = useNavigate();
  const [created, setCreated] = useState<NewWebhook>();
  const create = useTenantChange<One<NewWebhook>>(({ data }) => setCreated(data));
  const { data: limits } = useLimits();
  const settings = useSettings(newSettings, create.error);
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
              body: { url, ...settings.read(form), status: form.get('disabled') === null ? 'active' : 'disabled' },
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
          {settings.inputs}
          <Choice
            type="checkbox"
            name="disabled"
            label="Create disabled"
            hint="Events are skipped until you enable the webhook."
          />
          <ErrorNote error={create.error} fields={['url', ...settingsFields]} />
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
