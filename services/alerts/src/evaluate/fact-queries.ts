import type { Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import type { Facts, RequestFacts, WebhookFacts } from './observe.ts';

/** Windows of the rules, in seconds. */
export interface Windows {
  readonly apiErrorRate: number;
  readonly rateLimited: number;
  readonly deliveryFailureRate: number;
}

/**
 * The counts that a window of $4 seconds before $3 consists of: minutes before the first whole hour, then hours. A window
 * of a day has up to 1,440 minutes per webhook for up to 1,000 webhooks, and other tenants wait for the evaluation.
 */
const spansOfWindow = `
  (values ('minute', $3::timestamptz - make_interval(secs => $4),
           least($3, date_trunc('hour', $3 - make_interval(secs => $4), 'UTC') + interval '59 minutes')),
          ('hour', $3 - make_interval(secs => $4), $3)) as span (period, after, until)`;

/** Reads all facts that a tenant's rules need. A minute that is partly inside a window counts completely. */
export async function readFacts(db: Queryable, tenant: Tenant, windows: Windows, now: Date): Promise<Facts> {
  const [api_error_rate, rate_limited] = [
    await readRequestFacts(db, tenant, windows.apiErrorRate, now),
    await readRequestFacts(db, tenant, windows.rateLimited, now),
  ];
  return {
    requests: { api_error_rate, rate_limited },
    month: await readMonth(db, tenant, now),
    webhooks: await readWebhookFacts(db, tenant, windows.deliveryFailureRate, now),
    disabledWebhooks: await readDisabled(db, tenant),
    expiringKeys: await readExpiring(db, tenant),
  };
}

async function readRequestFacts(
  db: Queryable,
  { workspaceId, environment }: Tenant,
  windowSeconds: number,
  now: Date,
): Promise<RequestFacts> {
  const { rows } = await db.query<Record<'requests' | 'errors' | 'rate_limited' | 'refused', string | null>>(
    `select sum(part.requests) as requests, sum(part.errors) as errors, sum(part.rate_limited) as rate_limited,
            sum(part.refused) as refused
       from ${spansOfWindow}
      cross join lateral (
            select sum(requests) as requests, sum(client_errors + server_errors - rate_limited - quota_refused) as errors,
                   sum(rate_limited) as rate_limited, sum(rate_limited + quota_refused) as refused
              from alerts.request_counts
             where workspace_id = $1 and environment = $2
               and period = span.period and starts_at > after and starts_at <= until) as part`,
    [workspaceId, environment, now, windowSeconds],
  );
  const [row] = rows;
  return {
    requests: Number(row?.requests ?? 0),
    errors: Number(row?.errors ?? 0),
    rateLimited: Number(row?.rate_limited ?? 0),
    refused: Number(row?.refused ?? 0),
  };
}

async function readMonth(db: Queryable, { workspaceId, environment }: Tenant, now: Date): Promise<Facts['month']> {
  const { rows } = await db.query<{ admitted: string; monthly_quota: string }>(
    `select admitted, monthly_quota from alerts.request_counts
      where workspace_id = $1 and environment = $2 and period = 'month'
        and starts_at = date_trunc('month', $3::timestamptz, 'UTC')`,
    [workspaceId, environment, now],
  );
  return { used: Number(rows[0]?.admitted ?? 0), quota: Number(rows[0]?.monthly_quota ?? 0) };
}

/** Reads the facts of webhooks with an attempt in the last 24 hours. */
async function readWebhookFacts(
  db: Queryable,
  { workspaceId, environment }: Tenant,
  windowSeconds: number,
  now: Date,
): Promise<WebhookFacts[]> {
  const { rows } = await db.query<{
    webhook_id: string;
    url: string;
    last_error: string;
    attempts: string;
    failed_attempts: string;
    failures: string;
  }>(
    `select run.webhook_id, run.url, run.last_error, run.failures, counts.attempts, counts.failed_attempts
       from alerts.webhook_runs as run
      cross join lateral (
            select coalesce(sum(part.attempts), 0) as attempts, coalesce(sum(part.failed_attempts), 0) as failed_attempts
              from ${spansOfWindow}
             cross join lateral (
                   select sum(attempts) as attempts, sum(failed_attempts) as failed_attempts from alerts.delivery_counts
                    where workspace_id = $1 and environment = $2 and webhook_id = run.webhook_id
                      and period = span.period and starts_at > after and starts_at <= until) as part) as counts
      where run.workspace_id = $1 and run.environment = $2 and run.last_attempt_at > $3::timestamptz - interval '1 day'`,
    [workspaceId, environment, now, windowSeconds],
  );
  return rows.map((row) => ({
    webhookId: row.webhook_id,
    url: row.url,
    lastError: row.last_error,
    attempts: Number(row.attempts),
    failedAttempts: Number(row.failed_attempts),
    failures: Number(row.failures),
  }));
}

async function readDisabled(db: Queryable, { workspaceId, environment }: Tenant): Promise<Facts['disabledWebhooks']> {
  const { rows } = await db.query<{ webhook_id: string; reason: string; url: string }>(
    'select webhook_id, reason, url from alerts.disabled_webhooks where workspace_id = $1 and environment = $2',
    [workspaceId, environment],
  );
  return rows.map((row) => ({ webhookId: row.webhook_id, reason: row.reason, url: row.url }));
}

async function readExpiring(db: Queryable, { workspaceId, environment }: Tenant): Promise<Facts['expiringKeys']> {
  const { rows } = await db.query<{ key_id: string; name: string; expires_at: Date; document: object | null }>(
    'select key_id, name, expires_at, document from alerts.expiring_keys where workspace_id = $1 and environment = $2',
    [workspaceId, environment],
  );
  return rows.map((row) => ({
    keyId: row.key_id,
    name: row.name,
    expiresAtMs: row.expires_at.getTime(),
    document: row.document,
  }));
}
