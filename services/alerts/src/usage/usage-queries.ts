import type { Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import {
  type CountedDeliveries,
  type CountedDeliveryGroup,
  type CountedRequestGroup,
  type CountedRequests,
  deliveryGroupNames,
  type Group,
  type PeriodRow,
  type Run,
  requestGroupNames,
} from './usage.ts';

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

/** A table of sums per tenant, key and period. */
interface CountTable<Row> {
  readonly name: string;
  /** Further text columns of the primary key. */
  readonly keys?: Readonly<Record<string, (row: Row) => string>>;
  /** Columns that are added to. */
  readonly sums: readonly (string & keyof Row)[];
  /** A column that has the last report's value. */
  readonly last?: string & keyof Row;
}

const requestCounts: CountTable<CountedRequests> = {
  name: 'request_counts',
  sums: ['requests', 'admitted', 'clientErrors', 'serverErrors', 'rateLimited', 'quotaRefused'],
  last: 'monthlyQuota',
};
const deliveryCounts: CountTable<CountedDeliveries> = {
  name: 'delivery_counts',
  keys: { webhook_id: ({ webhookId }) => webhookId },
  sums: [...deliveryGroupNames, 'failedAttempts'],
};
const groupKeys = { dimension: ({ dimension }: Group) => dimension, name: ({ name }: Group) => name };
const requestGroups: CountTable<CountedRequestGroup> = {
  name: 'request_groups',
  keys: groupKeys,
  sums: requestGroupNames,
};
const deliveryGroups: CountTable<CountedDeliveryGroup> = {
  name: 'delivery_groups',
  keys: { ...groupKeys, webhook_id: ({ webhookId }) => webhookId },
  sums: deliveryGroupNames,
};

export const addRequestCounts = adderTo(requestCounts);
export const addDeliveryCounts = adderTo(deliveryCounts);
export const addRequestGroups = adderTo(requestGroups);
export const addDeliveryGroups = adderTo(deliveryGroups);

/** Returns a function that adds rows to a table. Each row may occur only once. */
function adderTo<Row extends Tenant & { readonly latencies: readonly number[] }>({
  name: table,
  keys = {},
  sums,
  last,
}: CountTable<Row>): (tx: Queryable, rows: readonly PeriodRow<Row>[]) => Promise<void> {
  const primary = ['workspace_id', 'environment', 'period', 'starts_at', ...Object.keys(keys)];
  const numbers = last === undefined ? sums : [...sums, last];
  const columns = [...primary, ...numbers.map(columnOf)];
  const types = primary.map((column) => (column === 'starts_at' ? 'timestamptz' : 'text'));
  const parameters = [...types, ...numbers.map(() => 'bigint'), 'text'].map((type, i) => `$${i + 1}::${type}[]`);
  const set = [
    ...sums.map(columnOf).map((column) => `${column} = known.${column} + excluded.${column}`),
    ...(last === undefined ? [] : [`${columnOf(last)} = excluded.${columnOf(last)}`]),
    'latencies = alerts.add_counts(known.latencies, excluded.latencies)',
  ];
  const text = `
      insert into alerts.${table} as known (${columns.join(', ')}, latencies)
      select ${columns.join(', ')}, latencies::bigint[]
        from unnest(${parameters.join(', ')})
             as t (${columns.join(', ')}, latencies)
          on conflict (${primary.join(', ')}) do update
         set ${set.join(',\n             ')}`;
  return async (tx, rows) => {
    if (rows.length === 0) return;
    await tx.query({
      name: `add-${table.replace('_', '-')}`,
      text,
      values: [
        rows.map((row) => row.workspaceId),
        rows.map((row) => row.environment),
        rows.map((row) => row.period),
        rows.map((row) => new Date(row.startMs)),
        ...Object.values(keys).map((of) => rows.map(of)),
        ...numbers.map((name) => rows.map((row) => row[name])),
        rows.map((row) => `{${row.latencies.join(',')}}`),
      ],
    });
  };
}

/** Returns a count's column. */
export function columnOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
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

/** Requests that count towards a month's quota, and that quota. undefined: nothing was counted. */
export async function readMonth(
  db: Queryable,
  { workspaceId, environment }: Tenant,
  monthMs: number,
): Promise<{ readonly used: number; readonly quota: number } | undefined> {
  const { rows } = await db.query<{ admitted: string; monthly_quota: string }>(
    `select admitted, monthly_quota from alerts.request_counts
      where workspace_id = $1 and environment = $2 and period = 'month' and starts_at = $3`,
    [workspaceId, environment, new Date(monthMs)],
  );
  return rows[0] && { used: Number(rows[0].admitted), quota: Number(rows[0].monthly_quota) };
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
