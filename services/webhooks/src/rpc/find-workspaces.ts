import { idTime, isId } from '@rms/base/ids';
import { findInPages, type ProbedPage, type Tenant, workspaceFinder } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import type { LookupService } from '@rms/proto/rms/webhooks/v1/lookup_service_pb';
import type { Handlers } from '@rms/rpc';
import type { HandlerParts } from './parts.ts';

/** Finds the workspaces that have a webhook, delivery or replay with an ID, or events of a request with an ID. */
export function findWorkspaces({ pool }: HandlerParts): Handlers<typeof LookupService>['findWorkspaces'] {
  return workspaceFinder((id, limit) => findOwners(pool, id, limit));
}

/**
 * Returns up to `limit` workspaces that have a webhook, delivery or replay with this ID, or events of a request with
 * this ID, in ID order. Webhooks and replays have an index of their IDs. For deliveries and events, which do not, every
 * tenant is probed, page by page.
 */
export async function findOwners(db: Queryable, id: string, limit: number): Promise<string[]> {
  if (id.startsWith('wh_')) return findById(db, 'webhooks.webhooks', id, limit);
  if (id.startsWith('rpl_')) return findById(db, 'webhooks.replays', id, limit);
  const sought = id.startsWith('dlv_') ? deliveryOf(id) : eventsOf(id);
  return findInPages<Tenant>((after, size) => probe(db, sought, after, size), limit);
}

async function findById(db: Queryable, table: string, id: string, limit: number): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select distinct workspace_id as id from ${table} where id = $1 order by 1 limit $2`,
    [id, limit],
  );
  return rows.map((row) => row.id);
}

/** Tables with one row per tenant that can have the object, a query that finds it in a tenant `t`, and its parameters. */
interface Sought {
  readonly tenants: readonly string[];
  readonly query: string;
  readonly values: readonly unknown[];
}

const ofTenant = 'o.workspace_id = t.workspace_id and o.environment = t.environment';

function deliveryOf(id: string): Sought {
  const sources = ['webhooks.deliveries', 'webhooks.delivery_log'];
  const query = sources.map((table) => `select from ${table} as o where ${ofTenant} and o.id = $1`).join(' union all ');
  return { tenants: ['webhooks.feeds', 'webhooks.test_counts'], query, values: [id] };
}

/** A request's events. Probes the partitions of all days, unless the request ID contains its time. */
function eventsOf(requestId: string): Sought {
  // The first event of a request is committed while the request runs; a retry with the same ID may follow later.
  const createdAt = isId('req', requestId) ? new Date(idTime(requestId)) : null;
  const query = `select from webhooks.events as o where ${ofTenant} and o.request_id = $1
                    and ($2::timestamptz is null
                         or o.id between webhooks.first_id('evt', $2 - interval '1 hour')
                                     and webhooks.first_id('evt', $2 + interval '1 day'))`;
  return { tenants: ['webhooks.feeds'], query, values: [requestId, createdAt] };
}

/** Probes up to `size` tenants after `after`. Every tenant with events has a feed; one with tests has a count. */
async function probe(
  db: Queryable,
  { tenants, query, values }: Sought,
  after: Tenant | undefined,
  size: number,
): Promise<ProbedPage<Tenant>> {
  const parameter = (number: number) => `$${values.length + number}`;
  const next = tenants.map(
    (table) => `(select workspace_id, environment from ${table}
                  where (workspace_id, environment) > (${parameter(1)}, ${parameter(2)})
                  order by workspace_id, environment limit ${parameter(3)})`,
  );
  const { rows } = await db.query<Tenant & { probed: number; found: string[] }>(
    `with tenants as materialized (
       select workspace_id, environment from (${next.join(' union ')}) as next
        order by workspace_id, environment limit ${parameter(3)}
     )
     select workspace_id as "workspaceId", environment, (select count(*)::integer from tenants) as probed,
            array(select distinct t.workspace_id from tenants as t where exists (${query}) order by 1) as found
       from tenants order by tenants.workspace_id desc, tenants.environment desc limit 1`,
    [...values, after?.workspaceId ?? '', after?.environment ?? '', size],
  );
  const [last] = rows;
  return { found: last?.found ?? [], probed: last?.probed ?? 0, last };
}
