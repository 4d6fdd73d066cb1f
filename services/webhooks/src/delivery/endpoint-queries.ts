import type { Environment } from '../subscription/webhook.ts';
import type { Endpoint } from './job.ts';

/** The columns of a webhook, as {@link endpointColumns} names them, that its endpoint is made of. */
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
}

/** Of a webhook `w`. */
export const endpointColumns = `w.url, w.secret_sealed, w.secret_version, w.previous_secret_sealed,
             w.previous_secret_until, w.client_certificate, w.client_key_sealed, w.max_retries, w.initial_delay_ms,
             w.max_delay_ms, w.retry_delays_ms`;

/** The columns of a delivery with its webhook, as jobs are made from them. */
export interface JobRow extends EndpointRow {
  workspace_id: string;
  environment: Environment;
  id: string;
  event_id: string;
  webhook_id: string;
  resource_id: string;
  request_id: string;
  ordered: boolean;
  origin: string;
  tries: number;
  lease: number;
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
  };
}
