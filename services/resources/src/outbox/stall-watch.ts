import type { Pool } from '@rms/postgres/db';
import { oldestAgeSeconds } from './relay-queries.ts';

interface StallWatchParts {
  readonly pool: Pool;
  /** Partitions held by the relay. */
  readonly owned: ReadonlySet<number>;
  readonly everyMs: number;
  readonly stallSeconds: number;
}

/** Compares the rows that a relay's session sees with the rows that the other sessions of its pool see. */
export interface StallWatch {
  /** Whether the last completed check found a stall. */
  readonly stalled: boolean;
  /**
   * Reads the oldest row's age in the idle partitions, at most every `everyMs`. Resolves to an error if a row was
   * older than `stallSeconds` at two successive checks, and its partition was idle at both: a row from a long
   * transaction may become visible at that age, but the next poll of the relay finds it. Never rejects.
   * @param isIdle whether the relay has found no more rows in a partition
   */
  check(isIdle: (partition: number) => boolean): Promise<Error | undefined>;
}

export function createStallWatch({ pool, owned, everyMs, stallSeconds }: StallWatchParts): StallWatch {
  let nextAtMs = performance.now() + everyMs;
  let suspects: readonly number[] = [];
  let stalled = false;

  const findOld = async (partitions: readonly number[]) => {
    const old: number[] = [];
    if ((await oldestAgeSeconds(pool, partitions)) <= stallSeconds) return old;
    for (const partition of partitions) {
      if ((await oldestAgeSeconds(pool, [partition])) > stallSeconds) old.push(partition);
    }
    return old;
  };

  return {
    get stalled() {
      return stalled;
    },
    async check(isIdle) {
      if (performance.now() < nextAtMs) return undefined;
      nextAtMs = Number.POSITIVE_INFINITY;
      try {
        const idle = [...owned].filter(isIdle);
        const old = (await findOld(idle)).filter(isIdle);
        const hidden = old.filter((partition) => suspects.includes(partition));
        suspects = old;
        stalled = hidden.length > 0;
        if (!stalled) return undefined;
        return new Error(
          `the session of the relay does not see events older than ${stallSeconds} s in partitions ${hidden.join(', ')}`,
        );
      } catch {
        // Without a connection, the state is unknown. The readiness check reports the outage.
        return undefined;
      } finally {
        nextAtMs = performance.now() + everyMs;
      }
    },
  };
}
