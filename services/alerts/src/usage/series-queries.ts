import type { Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import { maxPoints, type Point, type Range } from './series.ts';
import { deliveryGroupNames, type Group, requestGroupNames } from './usage.ts';
import { columnOf } from './usage-queries.ts';

/** Groups of deliveries by outcome are stored: one per error class, "success" and "none". */
const maxOutcomes = 16;
/** One row more than a valid result can have. */
const rowLimit = maxPoints + 1;

type RequestName = (typeof requestGroupNames)[number];
type DeliveryName = (typeof deliveryGroupNames)[number];

/** Reads a tenant's requests, at most {@link rowLimit} rows. */
export function readRequests(
  db: Queryable,
  tenant: Tenant,
  range: Range,
  dimension: Group['dimension'] | undefined,
): Promise<Point<RequestName>[]> {
  if (dimension === undefined) return read(db, tenant, range, { table: 'request_counts', names: requestGroupNames });
  return read(db, tenant, range, {
    table: 'request_groups',
    group: 'name',
    names: requestGroupNames,
    where: { dimension },
  });
}

/**
 * Reads a webhook's deliveries, or with an empty `webhookId` a tenant's. Each row is an index entry, at most
 * {@link rowLimit}, times {@link maxOutcomes} by outcome.
 */
export function readDeliveries(
  db: Queryable,
  tenant: Tenant,
  range: Range,
  { webhookId, by }: { readonly webhookId: string; readonly by: Group['dimension'] | 'webhook_id' | undefined },
): Promise<Point<DeliveryName>[]> {
  const counts = { table: 'delivery_counts', names: deliveryGroupNames };
  if (by === 'webhook_id' && webhookId === '')
    return read(db, tenant, range, { ...counts, group: 'webhook_id', condition: "webhook_id <> ''" });
  const where = { webhook_id: webhookId };
  if (by === 'webhook_id') return read(db, tenant, range, { ...counts, group: 'webhook_id', where });
  if (by === undefined) return read(db, tenant, range, { ...counts, where });
  return read(db, tenant, range, {
    table: 'delivery_groups',
    group: 'name',
    names: deliveryGroupNames,
    where: { ...where, dimension: by },
    limit: by === 'outcome' ? rowLimit * maxOutcomes : rowLimit,
  });
}

interface Source<Name extends string> {
  readonly table: string;
  /** Column with the group's name; default: none. */
  readonly group?: string;
  readonly names: readonly Name[];
  /** Values of columns. */
  readonly where?: Readonly<Record<string, string>>;
  readonly condition?: string;
  readonly limit?: number;
}

/** Reads a range's rows in index order, so that the limit bounds the cost. */
async function read<Name extends string>(
  db: Queryable,
  { workspaceId, environment }: Tenant,
  { period, fromMs, toMs }: Range,
  { table, group, names, where = {}, condition = 'true', limit = rowLimit }: Source<Name>,
): Promise<Point<Name>[]> {
  const equal = { workspace_id: workspaceId, environment, ...where, period };
  const columns = Object.keys(equal);
  const { rows } = await db.query<Record<Name, string> & { starts_at: Date; group: string; latencies: string }>({
    text: `
      select starts_at, ${group ?? `''`} as "group", latencies::text as latencies,
             ${names.map((name) => `${columnOf(name)} as "${name}"`).join(', ')}
        from alerts.${table}
       where ${columns.map((column, i) => `${column} = $${i + 4}`).join(' and ')} and ${condition}
         and starts_at >= $1 and starts_at < $2
       order by starts_at${group ? `, ${group}` : ''} limit $3`,
    values: [new Date(fromMs), new Date(toMs), limit, ...Object.values(equal)],
  });
  return rows.map((row) => ({
    startMs: row.starts_at.getTime(),
    group: row.group,
    sums: {
      ...(Object.fromEntries(names.map((name) => [name, Number(row[name])])) as Record<Name, number>),
      latencies: row.latencies.slice(1, -1).split(',').map(Number),
    },
  }));
}
