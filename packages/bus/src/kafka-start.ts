import type { Loss, StoredPosition } from './event-bus.ts';

/** Known facts about a partition when a consumer chooses where to read it. */
export interface PartitionState {
  /** The store's position. */
  readonly stored: StoredPosition | undefined;
  /** End of the records that the group has certainly handled; undefined if the broker does not know it. */
  readonly reached: bigint | undefined;
  /** Start offset without a stored position: of a group that has not stored any yet. */
  readonly adopted: bigint | undefined;
  /** Offset of the oldest record, and the offset after the newest one. */
  readonly low: bigint;
  readonly high: bigint;
}

export interface Start {
  readonly next: bigint;
  /** Digest of the record before `next`, if it can be compared. */
  readonly last: string | undefined;
  readonly loss: Loss | undefined;
  /** Number of records that the group has handled beyond the store's position. */
  readonly behind: bigint;
}

/**
 * Chooses where to read a partition:
 *
 * - at the stored position; records after it that the group has handled are read again;
 * - without one, at the oldest record;
 * - at the oldest record as well if the records at the stored position are deleted, or if the partition ends before it,
 *   so that it belongs to another log.
 */
export function chooseStart({ stored, reached, adopted, low, high }: PartitionState): Start {
  const known: StoredPosition | undefined =
    stored ?? (reached === undefined && adopted !== undefined ? { next: adopted, last: undefined } : undefined);
  const behindOf = (next: bigint) => (reached !== undefined && reached > next ? reached - next : 0n);
  if (!known) {
    // The store has had a position, which is lost: so may be records before the oldest one.
    const loss: Loss | undefined =
      reached !== undefined && low > 0n ? { reason: 'deleted', range: undefined } : undefined;
    return { next: low, last: undefined, loss, behind: behindOf(low) };
  }
  if (known.next > high) return replacedStart(low);
  const behind = behindOf(known.next);
  if (known.next < low) {
    return { next: low, last: undefined, loss: { reason: 'deleted', range: [known.next, low] }, behind };
  }
  return { next: known.next, last: known.next > low ? known.last : undefined, loss: undefined, behind };
}

/** Starts at the oldest record of a log that is not the stored position's log. */
export function replacedStart(low: bigint): Start {
  return { next: low, last: undefined, loss: { reason: 'replaced', range: undefined }, behind: 0n };
}
