import type { PoolClient } from '@rms/db';

/** The first of the lock's two numbers: "a partition of the outbox"; the second is the partition. */
const lockClass = 7_267_003;
/** Stands beside the partitions: each relay holds it shared, which lets them be counted. */
const memberKey = 2_147_483_647;

export type Connection = Pick<PoolClient, 'query'>;

/** Joins the relays of this database, until the connection ends. */
export async function joinRelays(connection: Connection): Promise<void> {
  await connection.query({
    text: 'select pg_advisory_lock_shared($1, $2)',
    values: [lockClass, memberKey],
  });
}

/** How many relays of this database there are. Asked regularly, it also shows that the connection still lives. */
export async function countRelays(connection: Connection): Promise<number> {
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

/** Takes at most `limit` of the partitions that nobody holds; answers with those that it got. */
export async function claimPartitions(
  connection: Connection,
  wanted: readonly number[],
  limit: number,
): Promise<number[]> {
  const { rows } = await connection.query<{ partition: number }>({
    text: `
      select partition from unnest($2::integer[]) as wanted (partition)
       where pg_try_advisory_lock($1, partition) limit $3`,
    values: [lockClass, wanted, limit],
  });
  return rows.map(({ partition }) => partition);
}

/** Gives partitions back and tells the other relays. */
export async function yieldPartitions(connection: Connection, partitions: readonly number[]): Promise<void> {
  await connection.query({
    text: `
      select count(pg_advisory_unlock($1, partition)), pg_notify($3, '')
        from unnest($2::integer[]) as given (partition)`,
    values: [lockClass, partitions, channel],
  });
}

/** Gives everything back and tells the other relays. */
export async function leaveRelays(connection: Connection): Promise<void> {
  await connection.query({ text: `select pg_advisory_unlock_all(), pg_notify($1, '')`, values: [channel] });
}

/** Relays listen here. The payload names partitions with new events; an empty one says that partitions are free. */
export const channel = 'rms_outbox';
