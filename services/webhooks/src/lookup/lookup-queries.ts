import type { Queryable } from '@rms/db';
import { idTime, isId } from '@rms/ids';
import { tenantsOf } from '../tenants-of.ts';

/**
 * Returns up to `limit` workspaces that have a webhook, delivery or replay with this ID, or events of a request with
 * this ID, in ID order. Probes an index once per tenant (for events, also per day, unless the ID contains its time). No
 * index has the ID without the tenant.
 */
export async function findOwners(db: Queryable, id: string, limit: number): Promise<string[]> {
  const { tenants, found, values } = sourceOf(id);
  const { rows } = await db.query<{ id: string }>(
    `with recursive ${tenants}
     select distinct t.workspace_id as id from tenants as t
      where exists (${found})
      order by 1 limit $${values.length + 1}`,
    [...values, limit],
  );
  return rows.map((row) => row.id);
}

/** Tenants that can have the object, a query that finds it in a tenant `t`, and the parameters. */
interface Source {
  readonly tenants: string;
  readonly found: string;
  readonly values: readonly unknown[];
}

const ofTenant = 'o.workspace_id = t.workspace_id and o.environment = t.environment';
/** Every tenant with events has one row here. */
const withEvents = 'tenants as (select workspace_id, environment from webhooks.feeds)';
/** Every tenant with test deliveries has one row in test_counts. */
const withDeliveries = `tenants as (
       select workspace_id, environment from webhooks.feeds
        union select workspace_id, environment from webhooks.test_counts)`;

function sourceOf(id: string): Source {
  if (id.startsWith('wh_') || id.startsWith('rpl_')) {
    const table = id.startsWith('wh_') ? 'webhooks.webhooks' : 'webhooks.replays';
    return {
      tenants: tenantsOf(table),
      found: `select from ${table} as o where ${ofTenant} and o.id = $1`,
      values: [id],
    };
  }
  if (id.startsWith('dlv_')) {
    const sources = ['webhooks.deliveries', 'webhooks.delivery_log'];
    const found = sources
      .map((table) => `select from ${table} as o where ${ofTenant} and o.id = $1`)
      .join(' union all ');
    return { tenants: withDeliveries, found, values: [id] };
  }
  // The first event of a request is committed while the request runs; a retry with the same ID may follow later.
  const createdAt = isId('req', id) ? new Date(idTime(id)) : null;
  const found = `select from webhooks.events as o where ${ofTenant} and o.request_id = $1
                    and ($2::timestamptz is null
                         or o.id between webhooks.first_id('evt', $2 - interval '1 hour')
                                     and webhooks.first_id('evt', $2 + interval '1 day'))`;
  return { tenants: withEvents, found, values: [id, createdAt] };
}
