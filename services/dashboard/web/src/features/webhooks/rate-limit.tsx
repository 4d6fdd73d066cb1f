import type { RateLimitDocument } from '@rms/api';
import { fieldError } from '../../api/client.ts';
import { webhookTexts } from '../../texts/webhooks.ts';
import { TextField } from '../../ui/field.tsx';

/** API fields with errors that {@link RateLimitFields} shows. */
export const rateLimitFields = ['rate_limit.max_concurrency', 'rate_limit.requests_per_second'] as const;

/** Inputs for the rate limit of a webhook. {@link rateLimitOf} reads them. */
export function RateLimitFields({ of: limit, error }: { readonly of: RateLimitDocument; readonly error: unknown }) {
  const texts = webhookTexts();
  const [concurrencyField, perSecondField] = rateLimitFields;
  return (
    <div className="form-grid">
      <TextField
        label={texts.concurrency}
        name={concurrencyField}
        type="number"
        min={1}
        max={1_000}
        defaultValue={limit.max_concurrency}
        hint={texts.concurrencyHint}
        error={fieldError(error, concurrencyField)}
        required
      />
      <TextField
        label={texts.perSecond}
        name={perSecondField}
        type="number"
        min={0.01}
        max={10_000}
        step="any"
        defaultValue={limit.requests_per_second ?? ''}
        hint={texts.perSecondHint}
        error={fieldError(error, perSecondField)}
      />
    </div>
  );
}

/** Reads the rate limit from a form with {@link RateLimitFields}. */
export function rateLimitOf(form: FormData): RateLimitDocument {
  const [concurrency, perSecond] = rateLimitFields.map((name) => String(form.get(name) ?? '').trim());
  return { max_concurrency: Number(concurrency), requests_per_second: perSecond === '' ? null : Number(perSecond) };
}
