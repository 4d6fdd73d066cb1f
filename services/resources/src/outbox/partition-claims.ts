import { type Connection, claimPartitions, countRelays, yieldPartitions } from './claim-queries.ts';

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
