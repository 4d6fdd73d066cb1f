import type { Queryable } from '@rms/postgres/db';

/** Reference to a queued email, with the columns in primary key order. */
export interface SealedRef {
  readonly workspaceId: string;
  readonly environment: string;
  readonly id: string;
}

export interface SealedEmail extends SealedRef {
  readonly sealed: Buffer;
}

/**
 * Returns up to `limit` queued emails after `after` that are encrypted with a key other than `keyId`. Locks them until
 * the transaction ends.
 */
export async function lockSealedByOthers(
  tx: Queryable,
  keyId: string,
  after: SealedRef,
  limit: number,
): Promise<SealedEmail[]> {
  const { rows } = await tx.query<{ workspace_id: string; environment: string; id: string; content: Buffer }>(
    `select workspace_id, environment, id, content from alerts.emails
      where state = 'queued' and substring(content from 1 for 4) <> decode($1, 'hex')
        and (workspace_id, environment, id) > ($2, $3, $4)
      order by workspace_id, environment, id limit $5 for no key update`,
    [keyId, after.workspaceId, after.environment, after.id, limit],
  );
  return rows.map((row) => ({
    workspaceId: row.workspace_id,
    environment: row.environment,
    id: row.id,
    sealed: row.content,
  }));
}

/** Replaces the encrypted content of emails that this transaction has locked. */
export async function writeSealed(tx: Queryable, emails: readonly SealedEmail[]): Promise<void> {
  await tx.query(
    `update alerts.emails as m set content = r.sealed
       from unnest($1::text[], $2::text[], $3::text[], $4::bytea[]) as r (workspace_id, environment, id, sealed)
      where m.workspace_id = r.workspace_id and m.environment = r.environment and m.id = r.id`,
    [
      emails.map(({ workspaceId }) => workspaceId),
      emails.map(({ environment }) => environment),
      emails.map(({ id }) => id),
      emails.map(({ sealed }) => sealed),
    ],
  );
}

/** Returns the number of queued emails that each key has encrypted. */
export async function countByKey(db: Queryable): Promise<{ keyId: string; count: bigint }[]> {
  const { rows } = await db.query<{ key_id: string; count: string }>(
    `select encode(substring(content from 1 for 4), 'hex') as key_id, count(*) as count from alerts.emails
      where state = 'queued' group by key_id order by key_id`,
  );
  return rows.map(({ key_id, count }) => ({ keyId: key_id, count: BigInt(count) }));
}
