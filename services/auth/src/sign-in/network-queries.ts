import type { Queryable } from '@rms/db';

/** Networks that are kept of each user, the latest ones, and for how long. */
const kept = 20;
const keptDays = 90;

/** Notes that somebody has signed in from there. */
export async function rememberNetwork(tx: Queryable, userId: string, network: string): Promise<void> {
  if (network === '') return;
  await tx.query(
    `insert into auth.known_networks (user_id, network) values ($1, $2)
         on conflict (user_id, network) do update set last_sign_in_at = now()`,
    [userId, network],
  );
}

/** Whether the user of that e-mail address has signed in from there of late. */
export async function isKnownNetwork(db: Queryable, emailKey: string, network: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from auth.known_networks join auth.users on users.id = user_id
      where email_key = $1 and network = $2 and known_networks.last_sign_in_at > now() - $3 * interval '1 day'`,
    [emailKey, network, keptDays],
  );
  return rowCount === 1;
}

/** Forgets networks that nobody came from for long, and those beyond what is kept of a user. */
export async function trimNetworks(db: Queryable): Promise<void> {
  await db.query(
    `delete from auth.known_networks as known
      using (
              select user_id, network, row_number() over (partition by user_id order by last_sign_in_at desc) as rank
                from auth.known_networks
            ) as ranked
      where known.user_id = ranked.user_id and known.network = ranked.network
        and (rank > $1 or last_sign_in_at < now() - $2 * interval '1 day')`,
    [kept, keptDays],
  );
}
