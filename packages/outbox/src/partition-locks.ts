import type { PoolClient } from '@rms/db';

/** The first half of the lock's two numbers: "the relay of the outbox". */
const lockClass = 7_267_003;

/** Tries for every partition that is not held yet; answers with those that are now. They are held while the connection lives. */
export async function acquirePartitions(
  connection: PoolClient,
  partitions: number,
  held: ReadonlySet<number>,
): Promise<number[]> {
  const free = Array.from({ length: partitions }, (_, partition) => partition).filter(
    (partition) => !held.has(partition),
  );
  const { rows } = await connection.query<{ partition: number }>(
    `select partition from unnest($2::integer[]) as wanted (partition) where pg_try_advisory_lock($1, partition)`,
    [lockClass, free],
  );
  return rows.map(({ partition }) => partition);
}
