import type { Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';

/**
 * Locks rows of a tenant until the transaction ends, so that one instance at a time handles them and they stay in
 * order. Returns false if another instance has the lock.
 * @param rows the locked rows; distinguishes a tenant's locks
 */
export async function tryTenantLock(
  tx: Queryable,
  rows: 'deferred events' | 'dead letters',
  { workspaceId, environment }: { readonly workspaceId: string; readonly environment: Tenant['environment'] | '' },
): Promise<boolean> {
  const found = await tx.query<{ locked: boolean }>({
    name: 'tenant-lock',
    text: "select pg_try_advisory_xact_lock(hashtextextended($1 || ' ' || $2 || ' ' || $3, 0)) as locked",
    values: [rows, workspaceId, environment],
  });
  return found.rows[0]?.locked === true;
}
