import { create, toBinary } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { toEnvironmentMessage } from '@rms/base/tenant';
import type { EventBus } from '@rms/bus';
import type { Pool, Queue } from '@rms/postgres/db';
import { NoticeSchema } from '@rms/proto/rms/events/v1/notice_pb';
import type { Logger } from '@rms/runtime/logging';
import type { Worker } from '@rms/runtime/service';
import { deleteNotices, type PendingNotice, readNotices } from './notice-queries.ts';

const everyMs = 1_000;
const maxDelayMs = 60_000;
const batch = 100;

export interface NoticeRelayParts {
  readonly pool: Pool;
  /** The queue of notices. */
  readonly queue: Queue;
  readonly bus: EventBus;
  readonly topic: string;
  readonly log: Logger;
}

/**
 * Creates the worker that publishes notices, at least once, and deletes them after the bus has acknowledged them. Two
 * instances may publish the same notices, and in another order; consumers compare sequences. While the bus does not
 * accept notices, for example an in-process bus without a consumer, they stay in the table. Other work is not affected.
 */
export function createNoticeRelay({ pool, queue, bus, topic, log }: NoticeRelayParts): Worker {
  const publishSome = async (signal: AbortSignal) => {
    const notices = await readNotices(pool, batch);
    if (notices.length === 0) return 0;
    const records = notices.map((notice) => ({ key: notice.workspaceId, value: encode(notice), headers: {} }));
    await bus.publish({ topic, partition: 0, records }, signal);
    await deleteNotices(
      pool,
      notices.map(({ id }) => id),
    );
    return notices.length;
  };
  return {
    name: 'notices',
    async run(signal) {
      let delayMs = everyMs;
      while (!signal.aborted) {
        try {
          const published = await publishSome(signal);
          delayMs = everyMs;
          if (published === batch) continue;
        } catch (err) {
          if (!signal.aborted) log.warn({ err }, 'could not publish notices; retrying');
          delayMs = Math.min(delayMs * 2, maxDelayMs);
        }
        await queue.sleep(delayMs, signal);
      }
    },
  };
}

function encode({ environment, createdAt, ...notice }: PendingNotice): Uint8Array {
  const message = create(NoticeSchema, {
    ...notice,
    environment: toEnvironmentMessage(environment),
    createTime: timestampFromDate(createdAt),
  });
  return toBinary(NoticeSchema, message);
}
