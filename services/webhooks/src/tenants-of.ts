/**
 * Returns the recursive CTE `tenants` (workspace_id, environment): the tenants with rows in a table. It skips from
 * tenant to tenant in an index that begins with these columns, so its cost does not depend on the number of rows.
 * @param where condition on the rows; that of the index, if it is partial
 */
export const tenantsOf = (table: string, where = 'true') => `tenants (workspace_id, environment) as (
        (select workspace_id, environment from ${table} where ${where} order by workspace_id, environment limit 1)
        union all
        select next.workspace_id, next.environment
          from tenants as t
         cross join lateral (
               select workspace_id, environment from ${table}
                where ${where} and (workspace_id, environment) > (t.workspace_id, t.environment)
                order by workspace_id, environment limit 1) as next
      )`;
