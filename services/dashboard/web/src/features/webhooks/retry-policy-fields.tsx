import type { RetryPolicyDocument } from '@rms/api';
import { webhookTexts } from '../../texts/webhooks.ts';
import { SelectField, TextField } from '../../ui/field.tsx';
import { Schedule } from './schedule.tsx';

const maxRetries = 50;
/** Bounds of a delay, in seconds. */
const delayBounds = { min: 0.01, max: 7 * 86_400 };

/** The retry policy in a form, as text. */
export interface RetryForm {
  readonly kind: string;
  readonly retries: string;
  readonly initialDelay: string;
  readonly maxDelay: string;
  readonly customDelays: string;
}

/** Returns the retry policy of a form. */
export function policyOf({ kind, retries, initialDelay, maxDelay, customDelays }: RetryForm): RetryPolicyDocument {
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

/** Returns the form for a retry policy. */
export function retryFormOf(policy: RetryPolicyDocument): RetryForm {
  const { delays, max_retries: retries = delays?.length ?? 0, initial_delay: initial, max_delay: max } = policy;
  return {
    kind: delays ? 'custom' : 'increasing',
    retries: String(retries),
    initialDelay: String(initial || 60),
    maxDelay: String(max || 43_200),
    customDelays: (delays ?? [5, 60, 600]).join(', '),
  };
}

/** Inputs for a retry policy. The schedule shows the values entered so far. */
export function RetryPolicyFields({
  of: form,
  onChange,
  disabled = false,
}: {
  readonly of: RetryForm;
  readonly onChange: (form: RetryForm) => void;
  readonly disabled?: boolean;
}) {
  const texts = webhookTexts();
  return (
    <>
      <div className="form-grid">
        <SelectField
          label={texts.delayType}
          value={form.kind}
          disabled={disabled}
          options={Object.entries(texts.delayTypes)}
          onChange={(event) => onChange({ ...form, kind: event.target.value })}
        />
        {form.kind === 'custom' ? (
          <TextField
            label={texts.delays}
            value={form.customDelays}
            disabled={disabled}
            hint={texts.delaysHint(maxRetries)}
            onChange={(event) => onChange({ ...form, customDelays: event.target.value })}
          />
        ) : (
          <>
            <TextField
              label={texts.retries}
              type="number"
              min={0}
              max={maxRetries}
              hint={texts.retriesHint(maxRetries)}
              value={form.retries}
              disabled={disabled}
              onChange={(event) => onChange({ ...form, retries: event.target.value })}
            />
            <TextField
              label={texts.firstDelay}
              type="number"
              {...delayBounds}
              step="any"
              value={form.initialDelay}
              disabled={disabled}
              onChange={(event) => onChange({ ...form, initialDelay: event.target.value })}
            />
            <TextField
              label={texts.maxDelay}
              type="number"
              {...delayBounds}
              hint={texts.maxDelayHint}
              step="any"
              value={form.maxDelay}
              disabled={disabled}
              onChange={(event) => onChange({ ...form, maxDelay: event.target.value })}
            />
          </>
        )}
      </div>
      <Schedule policy={policyOf(form)} />
    </>
  );
}
