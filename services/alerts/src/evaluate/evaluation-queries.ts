import type { Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import { isLaterThan } from '../impossible-times.ts';

/**
 * Locks the tenant with the most overdue evaluation until the transaction ends. If none is overdue, a tenant that would
 * wait longer than `longestWaitMs`, because the database's clock was ahead. Returns undefined if none is due.
 */
export async function takeDue(tx: Queryable, longestWaitMs: number): Promise<Tenant | undefined> {
  const { rows } = await tx.query<{ workspace_id: string; environment: Tenant['environment'] }>(
    `with due as (
       select workspace_id, environment from alerts.evaluations
        where due_at <= now() order by due_at limit 1 for update skip locked
     ), impossible as (
       select workspace_id, environment from alerts.evaluations
        where ${isLaterThan('due_at', longestWaitMs)} and due_at < 'infinity' and not exists (select from due)
        order by due_at limit 1 for update skip locked
     )
     select * from due union all select * from impossible`,
  );
  const [row] = rows;
  return row && { workspaceId: row.workspace_id, environment: row.environment };
}

/** Returns the query for tenants that are due within ten seconds, or that {@link takeDue} takes. */
export function evaluationsDue(longestWaitMs: number): string {
  return `(select from alerts.evaluations where due_at <= now() + interval '10 seconds' order by due_at limit 1) union all
          (select from alerts.evaluations where ${isLaterThan('due_at', longestWaitMs)} and due_at < 'infinity'
            order by due_at limit 1)`;
}

/**
 * Schedules the next evaluation. If `inMs` is undefined, no evaluation follows until an event, such as a usage report,
 * schedules it.
 */
export async function setDue(tx: Queryable, tenant: Tenant, inMs: number | undefined): Promise<void> {
  await tx.query(
    `update alerts.evaluations set due_at = coalesce(now() + make_interval(secs => $3), 'infinity')
      where workspace_id = $1 and environment = $2`,
    [tenant.workspaceId, tenant.environment, inMs === undefined ? null : inMs / 1_000],
  );
}

/** Schedules an evaluation of these tenants within `withinMs`. */
export async function evaluateSoon(tx: Queryable, tenants: readonly Tenant[], withinMs: number): Promise<void> {
  await tx.query({
    name: 'evaluate-soon',
    text: `
      insert into alerts.evaluations as known (workspace_id, environment, due_at)
      select distinct workspace_id, environment, now() + make_interval(secs => $3)
        from unnest($1::text[], $2::text[]) as t (workspace_id, environment)
       order by 1, 2
          on conflict (workspace_id, environment) do update set due_at = excluded.due_at
       where known.due_at > excluded.due_at`,
    values: [tenants.map((one) => one.workspaceId), tenants.map((one) => one.environment), withinMs / 1_000],
  });
}
