import { useState } from 'react';
import type { RetryPolicyDocument, WebhookDocument } from '../../../src/documents/webhook.ts';
import { useMay, useTenantChange } from '../api/tenant.ts';
import { Button } from '../ui/button.tsx';
import { SelectField, TextField } from '../ui/field.tsx';
import { ErrorNote } from '../ui/notes.tsx';
import { Card } from '../ui/page.tsx';
import { toast } from '../ui/toasts.tsx';
import { Schedule } from './schedule.tsx';

/** When failed deliveries are tried again; the picture follows what is typed. */
export function RetryPolicyCard({ of: webhook }: { readonly of: WebhookDocument }) {
  const mayWrite = useMay('webhooks.write');
  const [kind, setKind] = useState(webhook.retry_policy.delays_seconds ? 'own' : 'growing');
  const [retries, setRetries] = useState(String(webhook.retry_policy.max_retries));
  const [first, setFirst] = useState(String(webhook.retry_policy.initial_delay_seconds || 60));
  const [longest, setLongest] = useState(String(webhook.retry_policy.max_delay_seconds || 43_200));
  const [own, setOwn] = useState((webhook.retry_policy.delays_seconds ?? [5, 60, 600]).join(', '));
  const policy = policyOf({ kind, retries, first, longest, own });
  const save = useTenantChange(() => toast('The retry policy is changed.'));
  return (
    <Card title="Retry policy" about="When a delivery is tried again that was not answered 200 in time.">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate({ method: 'PATCH', path: `/webhooks/${webhook.id}`, body: { retry_policy: policy } });
        }}
      >
        <div className="form-grid">
          <SelectField
            label="Delays"
            value={kind}
            disabled={!mayWrite}
            options={[
              ['growing', 'Growing from the first to the longest'],
              ['own', 'My own'],
            ]}
            onChange={(event) => setKind(event.target.value)}
          />
          {kind === 'own' ? (
            <TextField
              label="Delays in seconds"
              value={own}
              disabled={!mayWrite}
              hint="One for each retry, between commas."
              onChange={(event) => setOwn(event.target.value)}
            />
          ) : (
            <>
              <TextField
                label="Retries"
                type="number"
                min={0}
                max={50}
                value={retries}
                disabled={!mayWrite}
                onChange={(event) => setRetries(event.target.value)}
              />
              <TextField
                label="First delay, seconds"
                type="number"
                min={0}
                step="any"
                value={first}
                disabled={!mayWrite}
                onChange={(event) => setFirst(event.target.value)}
              />
              <TextField
                label="Longest delay, seconds"
                type="number"
                min={0}
                step="any"
                value={longest}
                disabled={!mayWrite}
                onChange={(event) => setLongest(event.target.value)}
              />
            </>
          )}
        </div>
        <Schedule policy={policy} />
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

interface Typed {
  readonly kind: string;
  readonly retries: string;
  readonly first: string;
  readonly longest: string;
  readonly own: string;
}

const mostRetries = 50;

function policyOf({ kind, retries, first, longest, own }: Typed): RetryPolicyDocument {
  const number = (text: string) => (Number.isFinite(Number(text)) ? Math.max(0, Number(text)) : 0);
  const delays = own
    .split(/[\s,]+/)
    .filter((text) => text !== '')
    .map(number)
    .slice(0, mostRetries);
  return {
    max_retries: Math.min(mostRetries, Math.floor(number(retries))),
    initial_delay_seconds: number(first),
    max_delay_seconds: number(longest),
    delays_seconds: kind === 'own' && delays.length > 0 ? delays : null,
  };
}
