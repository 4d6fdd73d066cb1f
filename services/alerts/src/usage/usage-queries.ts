import type { Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import type { CountedDeliveries, CountedRequests, DeliverySums, Period, PeriodRow, RequestSums, Run } from './usage.ts';

/**
 * Records a report's sequence number per tenant. Returns the tenants that the report is new for. Waits for a
 * concurrent transaction with the same report.
 */
export async function takeReport(
  tx: Queryable,
  { reporterId, sequence }: { reporterId: string; sequence: bigint },
  tenants: readonly Tenant[],
): Promise<Tenant[]> {
  const { rows } = await tx.query<{ workspace_id: string; environment: Tenant['environment'] }>({
    name: 'take-report',
    text: `
      insert into alerts.reporters as known (workspace_id, environment, reporter_id, sequence)
      select distinct workspace_id, environment, $3, $4::bigint
        from unnest($1::text[], $2::text[]) as t (workspace_id, environment)
       order by 1, 2
          on conflict (workspace_id, environment, reporter_id) do update
         set sequence = excluded.sequence, seen_at = now()
       where known.sequence < excluded.sequence
      returning workspace_id, environment`,
    values: [tenants.map((one) => one.workspaceId), tenants.map((one) => one.environment), reporterId, `${sequence}`],
  });
  return rows.map((row) => ({ workspaceId: row.workspace_id, environment: row.environment }));
}

/** Adds to the request counts. Each row may occur only once in `rows`. */
export async function addRequestCounts(tx: Queryable, rows: readonly PeriodRow<CountedRequests>[]): Promise<void> {
  await tx.query({
    name: 'add-request-counts',
    text: `
      insert into alerts.request_counts as known
             (workspace_id, environment, period, starts_at, requests, admitted, client_errors, server_errors, rate_limited,
              quota_refused, latencies, monthly_quota)
      select workspace_id, environment, period, starts_at, requests, admitted, client_errors, server_errors, rate_limited,
             quota_refused, latencies::bigint[], monthly_quota
        from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::bigint[], $6::bigint[], $7::bigint[],
                    $8::bigint[], $9::bigint[], $10::bigint[], $11::text[], $12::bigint[])
             as t (workspace_id, environment, period, starts_at, requests, admitted, client_errors, server_errors,
                   rate_limited, quota_refused, latencies, monthly_quota)
          on conflict (workspace_id, environment, period, starts_at) do update
         set requests = known.requests + excluded.requests,
             admitted = known.admitted + excluded.admitted,
             client_errors = known.client_errors + excluded.client_errors,
             server_errors = known.server_errors + excluded.server_errors,
             rate_limited = known.rate_limited + excluded.rate_limited,
             quota_refused = known.quota_refused + excluded.quota_refused,
             latencies = alerts.add_counts(known.latencies, excluded.latencies),
             monthly_quota = excluded.monthly_quota`,
    values: [
      ...keysOf(rows),
      rows.map((row) => row.requests),
      rows.map((row) => row.admitted),
      rows.map((row) => row.clientErrors),
      rows.map((row) => row.serverErrors),
      rows.map((row) => row.rateLimited),
      rows.map((row) => row.quotaRefused),
      rows.map((row) => `{${row.latencies.join(',')}}`),
      rows.map((row) => row.monthlyQuota),
    ],
  });
}

/** Adds to the delivery counts. Each row may occur only once in `rows`. */
export async function addDeliveryCounts(tx: Queryable, rows: readonly PeriodRow<CountedDeliveries>[]): Promise<void> {
  await tx.query({
    name: 'add-delivery-counts',
    text: `
      insert into alerts.delivery_counts as known
             (workspace_id, environment, period, starts_at, webhook_id, attempts, failed_attempts, delivered, failed,
              latencies, canceled)
      select workspace_id, environment, period, starts_at, webhook_id, attempts, failed_attempts, delivered, failed,
             latencies::bigint[], canceled
        from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::bigint[], $7::bigint[],
                    $8::bigint[], $9::bigint[], $10::text[], $11::bigint[])
             as t (workspace_id, environment, period, starts_at, webhook_id, attempts, failed_attempts, delivered, failed,
                   latencies, canceled)
          on conflict (workspace_id, environment, webhook_id, period, starts_at) do update
         set attempts = known.attempts + excluded.attempts,
             failed_attempts = known.failed_attempts + excluded.failed_attempts,
             delivered = known.delivered + excluded.delivered,
             failed = known.failed + excluded.failed,
             canceled = known.canceled + excluded.canceled,
             latencies = alerts.add_counts(known.latencies, excluded.latencies)`,
    values: [
      ...keysOf(rows),
      rows.map((row) => row.webhookId),
      rows.map((row) => row.attempts),
      rows.map((row) => row.failedAttempts),
      rows.map((row) => row.delivered),
      rows.map((row) => row.failed),
      rows.map((row) => `{${row.latencies.join(',')}}`),
      rows.map((row) => row.canceled),
    ],
  });
}

/** Extends or resets the failure counts of webhooks. Each webhook may occur only once in `runs`. */
export async function addRuns(tx: Queryable, runs: readonly Run[]): Promise<void> {
  await tx.query({
    name: 'add-webhook-runs',
    text: `
      insert into alerts.webhook_runs as known
             (workspace_id, environment, webhook_id, failures, last_attempt_at, last_success_at, url, last_error)
      select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::timestamptz[], $6::timestamptz[],
                           $7::text[], $8::text[])
       order by 1, 2, 3
          on conflict (workspace_id, environment, webhook_id) do update
         set failures = excluded.failures + case when excluded.last_success_at is null then known.failures else 0 end,
             last_attempt_at = greatest(known.last_attempt_at, excluded.last_attempt_at),
             last_success_at = coalesce(excluded.last_success_at, known.last_success_at),
             url = case when excluded.url = '' then known.url else excluded.url end,
             last_error = case when excluded.last_error = '' then known.last_error else excluded.last_error end`,
    values: [
      runs.map((run) => run.workspaceId),
      runs.map((run) => run.environment),
      runs.map((run) => run.webhookId),
      runs.map((run) => run.failures),
      runs.map((run) => new Date(run.lastAttemptMs)),
      runs.map((run) => (run.lastSuccessMs === undefined ? null : new Date(run.lastSuccessMs))),
      runs.map((run) => run.url),
      runs.map((run) => run.lastError),
    ],
  });
}

/** Returns the request sums of each period since `sinceMs`, keyed by the period's start in milliseconds. */
export async function readRequests(
  db: Queryable,
  { workspaceId, environment }: Tenant,
  period: Period,
  sinceMs: number,
): Promise<Map<number, RequestSums>> {
  const { rows } = await db.query<{ starts_at: Date; latencies: string[]; [name: string]: unknown }>(
    `select * from alerts.request_counts
      where workspace_id = $1 and environment = $2 and period = $3 and starts_at >= $4`,
    [workspaceId, environment, period, new Date(sinceMs)],
  );
  const sums = rows.map((row): [number, RequestSums] => [
    row.starts_at.getTime(),
    {
      requests: Number(row.requests),
      admitted: Number(row.admitted),
      clientErrors: Number(row.client_errors),
      serverErrors: Number(row.server_errors),
      rateLimited: Number(row.rate_limited),
      quotaRefused: Number(row.quota_refused),
      latencies: row.latencies.map(Number),
      monthlyQuota: Number(row.monthly_quota),
    },
  ]);
  return new Map(sums);
}

/** Returns the delivery sums of a webhook, or of all webhooks if `webhookId` is empty. */
export async function readDeliveries(
  db: Queryable,
  { workspaceId, environment }: Tenant,
  webhookId: string,
  period: Period,
  sinceMs: number,
): Promise<Map<number, DeliverySums>> {
  const { rows } = await db.query<{ starts_at: Date; latencies: string[]; [name: string]: unknown }>(
    `select * from alerts.delivery_counts
      where workspace_id = $1 and environment = $2 and webhook_id = $3 and period = $4 and starts_at >= $5`,
    [workspaceId, environment, webhookId, period, new Date(sinceMs)],
  );
  const sums = rows.map((row): [number, DeliverySums] => [
    row.starts_at.getTime(),
    {
      attempts: Number(row.attempts),
      failedAttempts: Number(row.failed_attempts),
      delivered: Number(row.delivered),
      failed: Number(row.failed),
      canceled: Number(row.canceled),
      latencies: row.latencies.map(Number),
    },
  ]);
  return new Map(sums);
}

/** Usage that counts towards a monthly quota. */
export interface QuotaUse extends Tenant {
  readonly used: number;
}

/** Returns a page of tenants with usage in a month, starting after tenant `after`. */
export async function readQuotaUses(
  db: Queryable,
  monthMs: number,
  { after, usedSinceMs, limit }: { after: Tenant | undefined; usedSinceMs: number | undefined; limit: number },
): Promise<QuotaUse[]> {
  const { rows } = await db.query<{ workspace_id: string; environment: Tenant['environment']; admitted: string }>(
    `select workspace_id, environment, admitted from alerts.request_counts as month
      where period = 'month' and starts_at = $1 and (workspace_id, environment) > ($2, $3)
        and ($5::timestamptz is null or (workspace_id, environment) in (
              select workspace_id, environment from alerts.request_counts where period = 'minute' and starts_at >= $5))
      order by workspace_id, environment limit $4`,
    [
      new Date(monthMs),
      after?.workspaceId ?? '',
      after?.environment ?? '',
      limit,
      usedSinceMs === undefined ? null : new Date(usedSinceMs),
    ],
  );
  return rows.map((row) => ({
    workspaceId: row.workspace_id,
    environment: row.environment,
    used: Number(row.admitted),
  }));
}

function keysOf(rows: readonly PeriodRow<Tenant>[]) {
  return [
    rows.map((row) => row.workspaceId),
    rows.map((row) => row.environment),
    rows.map((row) => row.period),
    rows.map((row) => new Date(row.startMs)),
  ];
}
