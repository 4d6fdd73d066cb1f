import type { Pool } from '@rms/postgres/db';
import type { Tenant } from '../support.ts';

/**
 * Makes every insert of an event of a tenant fail with an SQLSTATE, by default that of a corrupt page. Returns a
 * function that ends this.
 */
export async function failInserts(
  pool: Pool,
  { workspaceId }: Tenant,
  { sqlState = 'XX001', when = 'true' } = {},
): Promise<() => Promise<void>> {
  const name = `fail_${workspaceId}`;
  await pool.query(
    `create function webhooks.${name}() returns trigger language plpgsql as $$
     begin raise exception 'invalid page' using errcode = '${sqlState}'; end $$;
     create trigger ${name} before insert on webhooks.events for each row
       when (new.workspace_id = '${workspaceId}' and ${when}) execute function webhooks.${name}();`,
  );
  return async () => {
    await pool.query(`drop function webhooks.${name} cascade`);
  };
}
