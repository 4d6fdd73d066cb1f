import { coalesce } from '@rms/async';
import type { Logger } from '@rms/runtime/logging';
import type { EachBatchPayload } from 'kafkajs';

type Handled = Pick<EachBatchPayload, 'commitOffsetsIfNecessary' | 'uncommittedOffsets'>;

/** Commits the group's offsets. */
export interface Commits {
  /** Schedules a commit of everything that has been handled. */
  handled(payload: Handled): void;
  /** Commits pending offsets immediately; resolves when no commit is in flight. */
  settled(): Promise<void>;
}

/** Interval between commits, and the upper bound of the work that is redelivered after a crash. */
const togetherMs = 100;

/**
 * Sends one commit at a time, independently of the handlers: a busy group commits ten times a second, regardless of the
 * number of batches. A failed commit is not retried: a later commit covers it, or the records are delivered again.
 * @param metadata returns the text that is committed with a partition's offset
 */
export function createCommits(log: Logger, metadata: (partition: number) => string | null): Commits {
  let waiting: Handled | undefined;
  let timer: NodeJS.Timeout | undefined;
  let last: Promise<void> = Promise.resolve();
  const send = coalesce(async (payloads: Handled[]) => {
    const { commitOffsetsIfNecessary, uncommittedOffsets } = payloads.at(-1) as Handled;
    const topics = uncommittedOffsets().topics.map(({ topic, partitions }) => ({
      topic,
      // The partitions of kafkajs are strings here.
      partitions: partitions.map((offset) => ({ ...offset, metadata: metadata(Number(offset.partition)) })),
    }));
    await commitOffsetsIfNecessary({ topics }).catch((err: unknown) => log.debug({ err }, 'offset commit failed'));
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
