import { deleteInBatches, type Queryable } from '@rms/postgres/db';
import { isLaterThan } from '../impossible-times.ts';

/** Returns the addresses, in lower case, that have confirmed to receive alerts of the workspace. */
export async function readConfirmed(
  db: Queryable,
  workspaceId: string,
  addresses: readonly string[],
): Promise<Set<string>> {
  const { rows } = await db.query<{ address: string }>(
    `select address from alerts.outside_recipients
      where workspace_id = $1 and address = any($2) and confirmed_at is not null`,
    [workspaceId, addresses.map((address) => address.toLowerCase())],
  );
  return new Set(rows.map(({ address }) => address));
}

/**
 * Records a request to confirm an address. Returns false if it has confirmed or was asked within the last
 * `retryAfterSeconds`. A request in the future, from a clock that was ahead, does not count.
 */
export async function recordConfirmationRequest(
  tx: Queryable,
  workspaceId: string,
  address: string,
  retryAfterSeconds: number,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into alerts.outside_recipients as known (workspace_id, address, asked_at) values ($1, lower($2), now())
         on conflict (workspace_id, address) do update set asked_at = now()
      where known.confirmed_at is null
        and (known.asked_at <= now() - make_interval(secs => $3) or ${isLaterThan('known.asked_at', 0)})`,
    [workspaceId, address, retryAfterSeconds],
  );
  return rowCount === 1;
}

/** Deletes addresses that did not confirm while their link was valid. */
export function forgetUnconfirmed(db: Queryable, afterSeconds: number, signal: AbortSignal): Promise<number> {
  const old = {
    where: 'confirmed_at is null and asked_at < alerts.agreed_now() - make_interval(secs => $1)',
    values: [afterSeconds],
  };
  return deleteInBatches(db, 'alerts.outside_recipients', old, signal);
}
