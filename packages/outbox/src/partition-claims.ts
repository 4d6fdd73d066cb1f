import { type Connection, claimPartitions, countRelays, yieldPartitions } from './claim-queries.ts';

/**
 * Brings what this relay holds nearer to its share, partitions ÷ relays rounded up: takes free partitions, or gives
 * idle ones back. Session locks hold the claims: they end with the connection, however it ends.
 */
export async function balanceClaims(
  connection: Connection,
  owned: Set<number>,
  { partitions, isBusy }: { partitions: number; isBusy: (partition: number) => boolean },
): Promise<void> {
  const share = Math.ceil(partitions / (await countRelays(connection)));
  if (owned.size < share) {
    const others = Array.from({ length: partitions }, (_, partition) => partition).filter((p) => !owned.has(p));
    for (const partition of await claimPartitions(connection, others, share - owned.size)) owned.add(partition);
  } else if (owned.size > share) {
    // One that is being published stays until a later time, so that no other relay publishes the same rows meanwhile.
    const surplus = [...owned].filter((partition) => !isBusy(partition)).slice(0, owned.size - share);
    if (surplus.length === 0) return;
    for (const partition of surplus) owned.delete(partition);
    await yieldPartitions(connection, surplus);
  }
}
