import { coalesce } from '@rms/rpc';
import type { Logger } from '@rms/service';
import type { EachBatchPayload } from 'kafkajs';

/** Keeps the group's position: how far it has handled each partition. */
export interface Position {
  /** Commits all that has been handled. */
  commit(payload: Pick<EachBatchPayload, 'commitOffsetsIfNecessary' | 'uncommittedOffsets'>): Promise<void>;
  /** Resolves when no commit is under way. */
  settled(): Promise<void>;
}

/**
 * One commit at a time, aside from the handling; what is handled meanwhile goes with the next. A commit that fails is not
 * repeated: a later one covers it, or the records come again.
 */
export function createPosition(log: Logger): Position {
  let last: Promise<void> = Promise.resolve();
  const send = coalesce(async (payloads: Parameters<Position['commit']>[0][]) => {
    const { commitOffsetsIfNecessary, uncommittedOffsets } = payloads.at(-1) as (typeof payloads)[number];
    await commitOffsetsIfNecessary(uncommittedOffsets()).catch((err: unknown) =>
      log.debug({ err }, 'a position was not committed'),
    );
    return payloads.map(() => undefined);
  });
  return {
    commit(payload) {
      last = send(payload).catch(() => {});
      return last;
    },
    settled: () => last,
  };
}
