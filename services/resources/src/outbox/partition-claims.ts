import type { PoolClient } from '@rms/postgres/db';

/** First key of the advisory locks on outbox partitions; the second key is the partition. */
const lockClass = 7_267_003;
/** Second key of a lock that each relay holds in shared mode, so that relays can be counted. */
const memberKey = 2_147_483_647;

type Connection = Pick<PoolClient, 'query'>;

/**
 * Moves the number of partitions of this relay towards its share, partitions ÷ relays rounded up: claims free
 * partitions, or releases idle partitions. The claims are session locks, so they end with the connection, even if it
 * breaks. Returns the number of relays.
 */
export async function balanceClaims(
  connection: Connection,
  owned: Set<number>,
  { partitions, isBusy }: { partitions: number; isBusy: (partition: number) => boolean },
): Promise<number> {
  const relays = await countRelays(connection);
  const share = Math.ceil(partitions / relays);
  if (owned.size < share) {
    const others = range(partitions).filter((partition) => !owned.has(partition));
    for (const partition of await claimPartitions(connection, others, share - owned.size)) owned.add(partition);
  } else if (owned.size > share) {
    // A partition that is publishing is released later, so that no other relay publishes the same rows concurrently.
    const surplus = [...owned].filter((partition) => !isBusy(partition)).slice(0, owned.size - share);
    if (surplus.length === 0) return relays;
    for (const partition of surplus) owned.delete(partition);
    await yieldPartitions(connection, surplus);
  }
  return relays;
}

/** Returns the numbers of all partitions. */
function range(partitions: number): number[] {
  return Array.from({ length: partitions }, (_, partition) => partition);
}

/** Registers this relay in the database until the connection ends, and notifies the other relays. */
export async function joinRelays(connection: Connection): Promise<void> {
  await connection.query({
    text: `select pg_advisory_lock_shared($1, $2), pg_notify($3, '')`,
    values: [lockClass, memberKey, channel],
  });
}

/** Counts the relays of this database. Regular calls also verify that the connection is alive. */
async function countRelays(connection: Connection): Promise<number> {
  const { rows } = await connection.query<{ relays: number }>({
    text: `
      select count(*)::integer as relays
        from pg_locks
       where locktype = 'advisory' and granted and classid = $1 and objid = $2 and objsubid = 2
         and database = (select oid from pg_database where datname = current_database())`,
    values: [lockClass, memberKey],
  });
  return rows[0]?.relays ?? 1;
}

/** Locks up to `limit` partitions that no relay holds, and returns them. */
async function claimPartitions(connection: Connection, wanted: readonly number[], limit: number): Promise<number[]> {
  const { rows } = await connection.query<{ partition: number }>({
    text: `
      select partition from unnest($2::integer[]) as wanted (partition)
       where pg_try_advisory_lock($1, partition) limit $3`,
    values: [lockClass, wanted, limit],
  });
  return rows.map(({ partition }) => partition);
}

/** Releases partitions and notifies the other relays. */
async function yieldPartitions(connection: Connection, partitions: readonly number[]): Promise<void> {
  await connection.query({
    text: `
      select count(pg_advisory_unlock($1, partition)), pg_notify($3, '')
        from unnest($2::integer[]) as given (partition)`,
    values: [lockClass, partitions, channel],
  });
}

/** Releases all partitions and notifies the other relays. */
export async function leaveRelays(connection: Connection): Promise<void> {
  await connection.query({ text: `select pg_advisory_unlock_all(), pg_notify($1, '')`, values: [channel] });
}

/**
 * NOTIFY channel of the relays. The payload lists partitions with new events; an empty payload means that a
 * relay has started, or that partitions are free.
 */
export const channel = 'rms_outbox';
