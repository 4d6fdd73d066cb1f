import type { Webhook } from '@rms/api';
import { useState } from 'react';
import { useMay, useTenantChange } from '../../api/tenant.ts';
import { webhookTexts } from '../../texts/webhooks.ts';
import { toast } from '../../toasts.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { Card } from '../../ui/page.tsx';
import { policyOf, RetryPolicyFields, retryFormOf } from './retry-policy-fields.tsx';

/** Card for the retry policy. */
export function RetryPolicyCard({ of: webhook }: { readonly of: Webhook }) {
  const texts = webhookTexts();
  const mayWrite = useMay('webhooks:write');
  const [form, setForm] = useState(() => retryFormOf(webhook.retry_policy));
  const save = useTenantChange(() => toast(texts.policySaved));
  return (
    <Card title={texts.retryPolicy} about={texts.retryPolicyAbout}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const body = { retry_policy: policyOf(form) };
          save.mutate({ method: 'PATCH', path: `/webhooks/${webhook.id}`, body });
        }}
      >
        <RetryPolicyFields of={form} onChange={setForm} disabled={!mayWrite} />
        <ErrorNote error={save.error} />
        {mayWrite ? (
          <div className="row">
            <Button type="submit" busy={save.isPending}>
              {texts.savePolicy}
            </Button>
          </div>
        ) : null}
      </form>
    </Card>
  );
}
