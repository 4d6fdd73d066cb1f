import { create, toBinary } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { EventBus } from '@rms/bus';
import { inTransaction, type Pool } from '@rms/db';
import { NoticeSchema } from '@rms/proto/rms/events/v1/notice_pb';
import { abortableDelay, type Logger, type Worker } from '@rms/service';
import { toEnvironmentMessage } from '../subscription/webhook-message.ts';
import { deleteNotices, type PendingNotice, takeNotices } from './notice-queries.ts';

const everyMs = 1_000;
const longestDelayMs = 60_000;
const batch = 100;

export interface NoticeRelayParts {
  readonly pool: Pool;
  readonly bus: EventBus;
  readonly topic: string;
  readonly log: Logger;
}

/**
 * Publishes notices, each at least once, in their order as far as one instance goes. While the bus does not take them, as
 * one inside the process that nobody listens to, they wait, and nothing else is the worse for it.
 */
export function createNoticeRelay({ pool, bus, topic, log }: NoticeRelayParts): Worker {
  const publishSome = (signal: AbortSignal) =>
    inTransaction(pool, async (tx) => {
      const notices = await takeNotices(tx, batch);
      if (notices.length === 0) return 0;
      const records = notices.map((notice) => ({ key: notice.workspaceId, value: encode(notice), headers: {} }));
      await bus.publish({ topic, partition: 0, records }, signal);
      await deleteNotices(
        tx,
        notices.map(({ id }) => id),
      );
      return notices.length;
    });
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
          if (!signal.aborted) log.warn({ err }, 'notices wait: they could not be published');
          delayMs = Math.min(delayMs * 2, longestDelayMs);
        }
        await abortableDelay(delayMs, signal);
      }
    },
  };
}

function encode({ id, type, workspaceId, environment, subjectId, reason, createdAt }: PendingNotice): Uint8Array {
  const notice = create(NoticeSchema, {
    id,
    type,
    workspaceId,
    environment: toEnvironmentMessage(environment),
    subjectId,
    reason,
    createTime: timestampFromDate(createdAt),
  });
  return toBinary(NoticeSchema, notice);
}
