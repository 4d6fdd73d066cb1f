import type { Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';

/**
 * Counts a test delivery. Returns false if the tenant has already made `most` within the current minute, which begins
 * with its first test.
 */
export async function countTest(tx: Queryable, { workspaceId, environment }: Tenant, most: number): Promise<boolean> {
  // A concurrent transaction may have begun a little later, so a start shortly after now() belongs to the current
  // minute. A start long after now() means that the clock of the database was set back.
  const isCurrent = "c.starts_at between now() - interval '1 minute' and now() + interval '1 minute'";
  const { rowCount } = await tx.query(
    `insert into webhooks.test_counts as c (workspace_id, environment, starts_at, tests) values ($1, $2, now(), 1)
         on conflict (workspace_id, environment) do update
        set tests = case when ${isCurrent} then c.tests + 1 else 1 end,
            starts_at = case when ${isCurrent} then c.starts_at else now() end
      where not (${isCurrent}) or c.tests < $3`,
    [workspaceId, environment, most],
  );
  return rowCount === 1;
}
