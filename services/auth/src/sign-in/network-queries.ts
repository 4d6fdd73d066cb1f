import { deleteInBatches, type Queryable } from '@rms/postgres/db';

/** Number of most recent networks stored per user, and their retention. */
const kept = 20;
const keptDays = 90;

/** Records that the user has signed in from this network, and deletes all but the `kept` most recent networks. */
export async function rememberNetwork(tx: Queryable, userId: string, network: string): Promise<void> {
  if (network === '') return;
  await tx.query(
    `delete from auth.known_networks
      where user_id = $1 and network in (
              select network from auth.known_networks where user_id = $1 and network <> $2
               order by last_sign_in_at desc offset $3
            )`,
    [userId, network, kept - 1],
  );
  await tx.query(
    `insert into auth.known_networks (user_id, network) values ($1, $2)
         on conflict (user_id, network) do update set last_sign_in_at = now()`,
    [userId, network],
  );
}

/** Returns whether the user with this email address has recently signed in from this network. */
export async function isKnownNetwork(db: Queryable, emailKey: string, network: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from auth.known_networks join auth.users on users.id = user_id
      where email_key = $1 and network = $2 and known_networks.last_sign_in_at > now() - $3 * interval '1 day'`,
    [emailKey, network, keptDays],
  );
  return rowCount === 1;
}

/** Deletes networks without a sign-in for `keptDays`. */
export function trimNetworks(db: Queryable, signal: AbortSignal): Promise<number> {
  const old = { where: `last_sign_in_at < auth.agreed_now() - $1 * interval '1 day'`, values: [keptDays] };
  return deleteInBatches(db, 'auth.known_networks', old, signal);
}
