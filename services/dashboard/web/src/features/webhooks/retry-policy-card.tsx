import type { Webhook } from '@rms/api';
import { useState } from 'react';
import { useMay, useTenantChange } from '../../api/tenant.ts';
import { toast } from '../../toasts.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { Card } from '../../ui/page.tsx';
import { policyOf, RetryPolicyFields, retryFormOf } from './retry-policy-fields.tsx';

/** Card for the retry policy. */
export function RetryPolicyCard({ of: webhook }: { readonly of: Webhook }) {
  const mayWrite = useMay('webhooks:write');
  const [form, setForm] = useState(() => retryFormOf(webhook.retry_policy));
  const save = useTenantChange(() => toast('Retry policy saved.'));
  return (
    <Card title="Retry policy" about="Schedule of retries after a failed delivery attempt.">
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
              Save policy
            </Button>
          </div>
        ) : null}
      </form>
    </Card>
  );
}
