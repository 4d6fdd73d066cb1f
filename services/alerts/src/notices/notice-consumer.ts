import { fromBinary } from '@bufbuild/protobuf';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { ConsumedRecord, EventBus } from '@rms/bus';
import { inTransaction, type Pool } from '@rms/db';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { type Notice, NoticeSchema } from '@rms/proto/rms/events/v1/notice_pb';
import type { Logger, Worker } from '@rms/service';
import { addDisabled, endIncidents, forgetRun, lockWatch, removeDisabled, type WebhookRef } from './notice-queries.ts';

export interface NoticeConsumerParts {
  readonly pool: Pool;
  readonly bus: EventBus;
  readonly topic: string;
  readonly group: string;
  readonly log: Logger;
}

/**
 * Hears what other services tell owners of webhooks. Each notice says how things are from its moment on, so that one that
 * comes again changes nothing.
 */
export function createNoticeConsumer({ pool, bus, topic, group, log }: NoticeConsumerParts): Worker {
  const take = async (record: ConsumedRecord) => {
    const notice = read(record);
    const ref = notice && webhookOf(notice);
    if (!notice || !ref) {
      log.error({ partition: record.partition, offset: record.offset }, 'a notice cannot be read; it is skipped');
      return;
    }
    const at = notice.createTime ? timestampDate(notice.createTime) : new Date();
    await inTransaction(pool, async (tx) => {
      await lockWatch(tx, ref);
      if (notice.type === 'webhook.disabled') {
        await addDisabled(tx, ref, notice.reason, at);
        await forgetRun(tx, ref);
      } else if (notice.type === 'webhook.enabled') {
        await removeDisabled(tx, ref, at);
      } else if (notice.type === 'webhook.deleted') {
        await removeDisabled(tx, ref, at);
        await forgetRun(tx, ref);
        await endIncidents(tx, ref);
      }
    });
  };
  const onBatch = async (records: readonly ConsumedRecord[], signal: AbortSignal) => {
    for (const record of records) {
      signal.throwIfAborted();
      await take(record);
    }
  };
  return { name: 'notices', run: (signal) => bus.consume({ topic, group, onBatch }, signal) };
}

function read({ value }: ConsumedRecord): Notice | undefined {
  try {
    return fromBinary(NoticeSchema, value);
  } catch {
    return undefined;
  }
}

function webhookOf({ workspaceId, environment, subjectId }: Notice): WebhookRef | undefined {
  if (workspaceId === '' || subjectId === '') return undefined;
  if (environment === Environment.LIVE) return { workspaceId, environment: 'live', webhookId: subjectId };
  if (environment === Environment.SANDBOX) return { workspaceId, environment: 'sandbox', webhookId: subjectId };
  return undefined;
}
