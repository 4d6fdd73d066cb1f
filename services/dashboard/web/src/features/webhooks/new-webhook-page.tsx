import type { NewWebhook } from '@rms/api';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { fieldError } from '../../api/client.ts';
import { type One, useTenant, useTenantChange } from '../../api/tenant.ts';
import { uiTexts } from '../../texts/ui.ts';
import { webhookTexts } from '../../texts/webhooks.ts';
import { Button, buttonClass } from '../../ui/button.tsx';
import { Choice, TextField } from '../../ui/field.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { useLimits } from '../rules/limits-queries.ts';
import { newSettings, settingsFields, useSettings } from './settings-fields.tsx';
import { ShowSecretDialog } from './show-secret-dialog.tsx';
import { webhookCountText, webhookUrlHint } from './webhook-limits.ts';

export function NewWebhookPage() {
  const texts = webhookTexts();
  const tenant = useTenant();
  const navigate = useNavigate();
  const [created, setCreated] = useState<NewWebhook>();
  const create = useTenantChange<One<NewWebhook>>(({ data }) => setCreated(data));
  const { data: limits } = useLimits();
  const settings = useSettings(newSettings, create.error);
  return (
    <>
      <PageHeader
        title={texts.create}
        lead={webhookCountText(limits)}
        breadcrumbs={[
          <Link key="webhooks" to="/w/$workspace/$environment/webhooks" params={tenant}>
            {uiTexts().webhooks}
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
            label={texts.endpointUrl}
            name="url"
            inputMode="url"
            placeholder="https://example.com/webhooks"
            hint={webhookUrlHint(limits)}
            error={fieldError(create.error, 'url')}
            required
            autoFocus
          />
          {settings.inputs}
          <Choice type="checkbox" name="disabled" label={texts.createDisabled} hint={texts.createDisabledHint} />
          <ErrorNote error={create.error} fields={['url', ...settingsFields]} />
          <div className="row">
            <Button type="submit" variant="main" busy={create.isPending}>
              {texts.create}
            </Button>
            <Link to="/w/$workspace/$environment/webhooks" params={tenant} className={buttonClass()}>
              {uiTexts().cancel}
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
