import type { Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import type { AlertKind, Rule } from './rule.ts';

/** Returns a tenant's rules that differ from the defaults. `lock` locks them until the transaction ends. */
export async function readRules(db: Queryable, tenant: Tenant, lock?: 'lock'): Promise<Rule[]> {
  const { rows } = await db.query<{
    kind: AlertKind;
    enabled: boolean;
    threshold: number;
    window_seconds: number;
    minimum: string;
    recipients: string[];
    to_owners: boolean;
    channels: string[];
    version: string;
    updated_at: Date;
  }>(`select * from alerts.rules where workspace_id = $1 and environment = $2 ${lock ? 'for update' : ''}`, [
    tenant.workspaceId,
    tenant.environment,
  ]);
  return rows.map((row) => ({
    workspaceId: tenant.workspaceId,
    environment: tenant.environment,
    kind: row.kind,
    enabled: row.enabled,
    threshold: row.threshold,
    windowSeconds: row.window_seconds,
    minimum: Number(row.minimum),
    recipients: row.recipients,
    toOwners: row.to_owners,
    channels: row.channels,
    version: Number(row.version),
    updatedAt: row.updated_at,
  }));
}

/** Returns the unsubscribed addresses of a tenant's rules. */
export async function readUnsubscribed(
  db: Queryable,
  { workspaceId, environment }: Tenant,
): Promise<{ readonly kind: AlertKind; readonly address: string }[]> {
  const { rows } = await db.query<{ kind: AlertKind; address: string }>(
    `select kind, address from alerts.unsubscribed where workspace_id = $1 and environment = $2 order by kind, address`,
    [workspaceId, environment],
  );
  return rows;
}

/** Resubscribes an address to a rule. Returns false if it was not unsubscribed. */
export async function removeUnsubscribed(
  tx: Queryable,
  { workspaceId, environment }: Tenant,
  kind: AlertKind,
  address: string,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `delete from alerts.unsubscribed
      where workspace_id = $1 and environment = $2 and kind = $3 and address = lower($4)`,
    [workspaceId, environment, kind, address],
  );
  return rowCount === 1;
}
