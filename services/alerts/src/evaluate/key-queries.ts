import type { Environment } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';

export interface ExpiringKey {
  readonly environment: Environment;
  readonly keyId: string;
  readonly name: string;
  readonly expiresAt: Date;
  /** The key as the REST API returns it, with its version. */
  readonly document: object;
}

/**
 * Replaces the expiring keys of a workspace. Schedules an evaluation of its rules in every environment that had or has
 * expiring keys.
 */
export async function replaceExpiring(tx: Queryable, workspaceId: string, keys: readonly ExpiringKey[]): Promise<void> {
  const { rows } = await tx.query<{ environment: Environment }>(
    'delete from alerts.expiring_keys where workspace_id = $1 returning environment',
    [workspaceId],
  );
  const environments = [...new Set([...rows, ...keys].map(({ environment }) => environment))].sort();
  if (environments.length === 0) return;
  await tx.query(
    `insert into alerts.expiring_keys (workspace_id, environment, key_id, name, expires_at, document)
     select $1, * from unnest($2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::json[])
         on conflict do nothing`,
    [
      workspaceId,
      keys.map((key) => key.environment),
      keys.map((key) => key.keyId),
      keys.map((key) => key.name),
      keys.map((key) => key.expiresAt),
      keys.map((key) => JSON.stringify(key.document)),
    ],
  );
  await tx.query(
    `insert into alerts.evaluations as known (workspace_id, environment, due_at)
     select $1, environment, now() from unnest($2::text[]) as t (environment)
         on conflict (workspace_id, environment) do update set due_at = least(known.due_at, now())`,
    [workspaceId, environments],
  );
}
