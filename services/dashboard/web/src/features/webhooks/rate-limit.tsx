import type { RateLimitDocument } from '@rms/api';
import { fieldError } from '../../api/client.ts';
import { countText } from '../../ui/count.ts';
import { TextField } from '../../ui/field.tsx';

/** API fields with errors that {@link RateLimitFields} shows. */
export const rateLimitFields = ['rate_limit.max_concurrency', 'rate_limit.requests_per_second'] as const;

/** Inputs for the rate limit of a webhook. {@link rateLimitOf} reads them. */
export function RateLimitFields({ of: limit, error }: { readonly of: RateLimitDocument; readonly error: unknown }) {
  const [concurrencyField, perSecondField] = rateLimitFields;
  return (
    <div className="form-grid">
      <TextField
        label="Maximum concurrent attempts"
        name={concurrencyField}
        type="number"
        min={1}
        max={1_000}
        defaultValue={limit.max_concurrency}
        hint="Requests in progress at the endpoint at the same time, from 1 to 1,000."
        error={fieldError(error, concurrencyField)}
        required
      />
      <TextField
        label="Maximum attempts per second"
        name={perSecondField}
        type="number"
        min={0.01}
        max={10_000}
        step="any"
        defaultValue={limit.requests_per_second ?? ''}
        hint="Fractions are allowed. Leave empty for no limit."
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

/** Formats a rate limit: "32 concurrent attempts, 0.5 per second". */
export function rateLimitText({ max_concurrency: concurrency, requests_per_second: perSecond }: RateLimitDocument) {
  const attempts = countText(concurrency, 'concurrent attempt', 'concurrent attempts');
  return perSecond === null ? attempts : `${attempts}, ${perSecond} per second`;
}
