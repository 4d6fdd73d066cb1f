import { coalesce } from '@rms/rpc';
import type { Logger } from '@rms/service';
import type { EachBatchPayload } from 'kafkajs';

type Handled = Pick<EachBatchPayload, 'commitOffsetsIfNecessary' | 'uncommittedOffsets'>;

/** Keeps the group's position: how far it has handled each partition. */
export interface Position {
  /** All that has been handled is committed soon. */
  handled(payload: Handled): void;
  /** Commits now what waits for it; resolves when no commit is under way. */
  settled(): Promise<void>;
}

/** What one commit covers, and what comes again after a crash at most. */
const togetherMs = 100;

/**
 * One commit at a time, aside from the handling: a busy group commits ten times a second, however many batches it handles.
 * A commit that fails is not repeated: a later one covers it, or the records come again.
 */
export function createPosition(log: Logger): Position {
  let waiting: Handled | undefined;
  let timer: NodeJS.Timeout | undefined;
  let last: Promise<void> = Promise.resolve();
  const send = coalesce(async (payloads: Handled[]) => {
    const { commitOffsetsIfNecessary, uncommittedOffsets } = payloads.at(-1) as Handled;
    await commitOffsetsIfNecessary(uncommittedOffsets()).catch((err: unknown) =>
      log.debug({ err }, 'a position was not committed'),
    );
    return payloads.map(() => undefined);
  });
  const commit = () => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting) last = send(waiting).catch(() => {});
    waiting = undefined;
  };
  return {
    handled(payload) {
      waiting = payload;
      timer ??= setTimeout(commit, togetherMs);
    },
    settled() {
      commit();
      return last;
    },
  };
}
