import type { RetryPolicyDocument, Webhook } from '@rms/api';
import { useState } from 'react';
import { useMay, useTenantChange } from '../../api/tenant.ts';
import { toast } from '../../toasts.ts';
import { Button } from '../../ui/button.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { Card } from '../../ui/page.tsx';
import { Schedule } from './schedule.tsx';

const maxRetries = 50;
/** Bounds of a delay, in seconds. */
const delayBounds = { min: 0.01, max: 7 * 86_400 };

/** Card for the retry policy. The schedule shows the values entered so far. */
export function RetryPolicyCard({ of: webhook }: { readonly of: Webhook }) {
  const mayWrite = useMay('webhooks:write');
  const { delays, max_retries = delays?.length ?? 0, initial_delay, max_delay } = webhook.retry_policy;
  const [kind, setKind] = useState(delays ? 'custom' : 'increasing');
  const [retries, setRetries] = useState(String(max_retries));
  const [initialDelay, setInitialDelay] = useState(String(initial_delay || 60));
  const [maxDelay, setMaxDelay] = useState(String(max_delay || 43_200));
  const [customDelays, setCustomDelays] = useState((delays ?? [5, 60, 600]).join(', '));
  const policy = policyOf({ kind, retries, initialDelay, maxDelay, customDelays });
  const save = useTenantChange(() => toast('Retry policy saved.'));
  return (
    <Card title="Retry policy" about="Schedule of retries after a failed delivery attempt.">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate({ method: 'PATCH', path: `/webhooks/${webhook.id}`, body: { retry_policy: policy } });
        }}
      >
        <div className="form-grid">
          <SelectField
            label="Delay type"
            value={kind}
            disabled={!mayWrite}
            options={[
              ['increasing', 'Increasing'],
              ['custom', 'Custom'],
            ]}
            onChange={(event) => setKind(event.target.value)}
          />
          {kind === 'custom' ? (
            <TextField
              label="Delays in seconds"
              value={customDelays}
              disabled={!mayWrite}
              hint={`One per retry, separated by commas: up to ${maxRetries}, each from 0.01 to 604,800 (7 days).`}
              onChange={(event) => setCustomDelays(event.target.value)}
            />
          ) : (
            <>
              <TextField
                label="Retries"
                type="number"
                min={0}
                max={maxRetries}
                hint={`Up to ${maxRetries}.`}
                value={retries}
                disabled={!mayWrite}
                onChange={(event) => setRetries(event.target.value)}
              />
              <TextField
                label="First delay in seconds"
                type="number"
                {...delayBounds}
                step="any"
                value={initialDelay}
                disabled={!mayWrite}
                onChange={(event) => setInitialDelay(event.target.value)}
              />
              <TextField
                label="Maximum delay in seconds"
                type="number"
                {...delayBounds}
                hint="Up to 604,800, which is 7 days."
                step="any"
                value={maxDelay}
                disabled={!mayWrite}
                onChange={(event) => setMaxDelay(event.target.value)}
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

interface FormValues {
  readonly kind: string;
  readonly retries: string;
  readonly initialDelay: string;
  readonly maxDelay: string;
  readonly customDelays: string;
}

function policyOf({ kind, retries, initialDelay, maxDelay, customDelays }: FormValues): RetryPolicyDocument {
  const number = (text: string) => (Number.isFinite(Number(text)) ? Math.max(0, Number(text)) : 0);
  const delays = customDelays
    .split(/[\s,]+/)
    .filter((text) => text !== '')
    .map(number)
    .slice(0, maxRetries);
  if (kind === 'custom' && delays.length > 0) return { delays };
  return {
    max_retries: Math.min(maxRetries, Math.floor(number(retries))),
    initial_delay: number(initialDelay),
    max_delay: number(maxDelay),
  };
}
