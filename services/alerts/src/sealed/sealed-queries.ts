import type { Queryable } from '@rms/db';

/** A mail that waits; in the order of the primary key. */
export interface SealedRef {
  readonly workspaceId: string;
  readonly environment: string;
  readonly id: string;
}

export interface SealedMail extends SealedRef {
  readonly sealed: Buffer;
}

/** Up to `limit` waiting mails after `after` that another key than `keyId` has sealed; locked until the transaction ends. */
export async function lockSealedByOthers(
  tx: Queryable,
  keyId: string,
  after: SealedRef,
  limit: number,
): Promise<SealedMail[]> {
  const { rows } = await tx.query<{ workspace_id: string; environment: string; id: string; content: Buffer }>(
    `select workspace_id, environment, id, content from alerts.mails
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

/** Replaces what the mails say, which this transaction has locked. */
export async function writeSealed(tx: Queryable, mails: readonly SealedMail[]): Promise<void> {
  await tx.query(
    `update alerts.mails as m set content = r.sealed
       from unnest($1::text[], $2::text[], $3::text[], $4::bytea[]) as r (workspace_id, environment, id, sealed)
      where m.workspace_id = r.workspace_id and m.environment = r.environment and m.id = r.id`,
    [
      mails.map(({ workspaceId }) => workspaceId),
      mails.map(({ environment }) => environment),
      mails.map(({ id }) => id),
      mails.map(({ sealed }) => sealed),
    ],
  );
}

/** How many waiting mails each key has sealed. */
export async function countByKey(db: Queryable): Promise<{ keyId: string; count: bigint }[]> {
  const { rows } = await db.query<{ key_id: string; count: string }>(
    `select encode(substring(content from 1 for 4), 'hex') as key_id, count(*) as count from alerts.mails
      where state = 'queued' group by key_id order by key_id`,
  );
  return rows.map(({ key_id, count }) => ({ keyId: key_id, count: BigInt(count) }));
}
