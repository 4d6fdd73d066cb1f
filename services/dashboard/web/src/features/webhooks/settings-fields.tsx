import type { RetryPolicyDocument, Webhook } from '@rms/api';
import { type ReactNode, useState } from 'react';
import { ApiError, fieldError } from '../../api/client.ts';
import { webhookTexts } from '../../texts/webhooks.ts';
import { Choice, TextField } from '../../ui/field.tsx';
import { EventChoice } from './event-choice.tsx';
import { FilterFields, filterFormOf, filterOf } from './filter-fields.tsx';
import { HeaderFields, headerRowsOf, headersOf } from './header-fields.tsx';
import { RateLimitFields, rateLimitFields, rateLimitOf } from './rate-limit.tsx';
import { policyOf, RetryPolicyFields, retryFormOf } from './retry-policy-fields.tsx';

/** The settings that a form for a webhook shows, besides its URL. */
export type WebhookSettings = Pick<
  Webhook,
  | 'events'
  | 'description'
  | 'ordered'
  | 'rate_limit'
  | 'headers'
  | 'secret_headers'
  | 'timeout'
  | 'signature_alias'
  | 'filter'
> & { readonly retry_policy: RetryPolicyDocument };

/** Settings of a new webhook. */
export const newSettings: WebhookSettings = {
  events: ['*'],
  description: '',
  ordered: false,
  retry_policy: { max_retries: 5, initial_delay: 60, max_delay: 43_200 },
  rate_limit: { max_concurrency: 32, requests_per_second: null },
  headers: {},
  secret_headers: [],
  timeout: 10,
  signature_alias: null,
  filter: null,
};

/** API fields with errors that the inputs show. */
export const settingsFields = [
  'events',
  'description',
  'timeout',
  'headers',
  'secret_headers',
  'signature_alias',
  'filter',
  ...rateLimitFields,
];

/** Returns the inputs for a webhook's settings, and a function that reads them from their form. */
export function useSettings(
  of: WebhookSettings,
  error: unknown,
): { readonly inputs: ReactNode; readonly read: (form: FormData) => object } {
  const texts = webhookTexts();
  const [events, setEvents] = useState<readonly string[]>(of.events);
  const [ordered, setOrdered] = useState(of.ordered);
  const [headers, setHeaders] = useState(() => headerRowsOf(of) as ReturnType<typeof headerRowsOf>);
  const [filter, setFilter] = useState(() => filterFormOf(of.filter));
  const [retries, setRetries] = useState(() => retryFormOf(of.retry_policy));
  const inputs = (
    <>
      <TextField
        label={texts.description}
        name="description"
        maxLength={500}
        defaultValue={of.description}
        error={fieldError(error, 'description')}
      />
      <EventChoice selected={events} onChange={setEvents} error={fieldError(error, 'events')} />
      <FilterFields of={filter} onChange={setFilter} error={firstError(error, 'filter')} />
      <Choice
        type="checkbox"
        label={texts.orderedDelivery}
        hint={texts.orderedHint}
        checked={ordered}
        onChange={() => setOrdered(!ordered)}
      />
      <RateLimitFields of={of.rate_limit} error={error} />
      <RetryPolicyFields of={retries} onChange={setRetries} />
      <div className="form-grid">
        <TextField
          label={texts.timeoutInSeconds}
          name="timeout"
          type="number"
          min={1}
          max={30}
          step="any"
          defaultValue={of.timeout}
          hint={texts.timeoutHint}
          error={fieldError(error, 'timeout')}
          required
        />
        <TextField
          label={texts.alias}
          name="signature_alias"
          maxLength={100}
          defaultValue={of.signature_alias ?? ''}
          hint={texts.aliasHint}
          error={fieldError(error, 'signature_alias')}
        />
      </div>
      <HeaderFields
        rows={headers}
        onChange={(rows) => setHeaders([...rows])}
        error={firstError(error, 'headers') ?? fieldError(error, 'secret_headers')}
      />
    </>
  );
  return {
    inputs,
    read: (form) => ({
      events,
      description: String(form.get('description')),
      ordered,
      filter: filterOf(filter),
      rate_limit: rateLimitOf(form),
      retry_policy: policyOf(retries),
      timeout: Number(form.get('timeout')),
      signature_alias: String(form.get('signature_alias')).trim() || null,
      ...headersOf(headers),
    }),
  };
}

/** Returns the first error of a field or of a part of it. */
function firstError(error: unknown, field: string): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  return error.details.find((detail) => detail.field === field || detail.field.startsWith(`${field}.`))?.message;
}
