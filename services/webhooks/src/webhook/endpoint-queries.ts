import type { Webhook } from './webhook.ts';

/** Settings of a webhook that its deliveries need. */
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
  | 'headers'
  | 'secretHeadersSealed'
  | 'timeoutMs'
  | 'signatureAlias'
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
  headers: Record<string, string>;
  secret_headers_sealed: Buffer | null;
  timeout_ms: number;
  signature_alias: string | null;
}

/**
 * The previous secret's columns of a webhook with the alias `w`; null after the overlap. Uses the clock of the
 * database instead of the clock of an instance.
 */
export const previousSecretColumns = ['previous_secret_sealed', 'previous_secret_until']
  .map((column) => `case when w.previous_secret_until > now() then w.${column} end as ${column}`)
  .join(', ');

/** The columns that form an endpoint, except for the previous secret. */
const plainColumns = [
  'url',
  'secret_sealed',
  'secret_version',
  'client_certificate',
  'client_key_sealed',
  'max_retries',
  'initial_delay_ms',
  'max_delay_ms',
  'retry_delays_ms',
  'max_concurrency',
  'headers',
  'secret_headers_sealed',
  'timeout_ms',
  'signature_alias',
];

/** The endpoint columns of a webhook with the alias `w`. */
export const endpointColumns = [...plainColumns.map((column) => `w.${column}`), previousSecretColumns].join(', ');

/** Returns the endpoint columns of a CTE that has selected {@link endpointColumns}. */
export function selectedEndpointColumns(alias: string): string {
  const names = [...plainColumns, 'previous_secret_sealed', 'previous_secret_until'];
  return names.map((column) => `${alias}.${column}`).join(', ');
}

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
    headers: row.headers,
    secretHeadersSealed: row.secret_headers_sealed ?? undefined,
    timeoutMs: row.timeout_ms,
    signatureAlias: row.signature_alias ?? undefined,
  };
}
