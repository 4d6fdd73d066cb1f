import type { Webhook } from './webhook.ts';

/** The URL, credentials, retry policy and concurrency limit for a webhook's deliveries. */
export type Endpoint = Pick<
  Webhook,
  | 'url'
  | 'secretSealed'
  | 'secretVersion'
  | 'previousSecretSealed'
  | 'previousSecretUntil'
  | 'clientCertificate'
  | 'clientKeySealed'
  | 'retryPolicy'
> & {
  /** Maximum number of concurrent attempts, for all instances together. */
  readonly maxConcurrency: number;
};

/** A webhook's columns that form its endpoint, as selected by {@link endpointColumns}. */
export interface EndpointRow {
  url: string;
  secret_sealed: Buffer;
  secret_version: number;
  previous_secret_sealed: Buffer | null;
  previous_secret_until: Date | null;
  client_certificate: string | null;
  client_key_sealed: Buffer | null;
  max_retries: number;
  initial_delay_ms: string;
  max_delay_ms: string;
  retry_delays_ms: string[] | null;
  max_concurrency: number;
}

/**
 * The previous secret's columns of a webhook with the alias `w`; null after the overlap. Uses the clock of the
 * database instead of the clock of an instance.
 */
export const previousSecretColumns = ['previous_secret_sealed', 'previous_secret_until']
  .map((column) => `case when w.previous_secret_until > now() then w.${column} end as ${column}`)
  .join(', ');

/** The endpoint columns of a webhook with the alias `w`. */
export const endpointColumns = `w.url, w.secret_sealed, w.secret_version, ${previousSecretColumns},
             w.client_certificate, w.client_key_sealed, w.max_retries, w.initial_delay_ms, w.max_delay_ms,
             w.retry_delays_ms, w.max_concurrency`;

export function toEndpoint(row: EndpointRow): Endpoint {
  return {
    url: row.url,
    secretSealed: row.secret_sealed,
    secretVersion: row.secret_version,
    previousSecretSealed: row.previous_secret_sealed ?? undefined,
    previousSecretUntil: row.previous_secret_until ?? undefined,
    clientCertificate: row.client_certificate ?? undefined,
    clientKeySealed: row.client_key_sealed ?? undefined,
    retryPolicy: {
      maxRetries: row.max_retries,
      initialDelayMs: Number(row.initial_delay_ms),
      maxDelayMs: Number(row.max_delay_ms),
      delaysMs: row.retry_delays_ms?.map(Number),
    },
    maxConcurrency: row.max_concurrency,
  };
}
