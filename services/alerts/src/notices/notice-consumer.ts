import { fromBinary } from '@bufbuild/protobuf';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { environmentOf } from '@rms/base/tenant';
import type { ConsumedRecord, EventBus } from '@rms/bus';
import { inTransaction, isRefusal, type Pool, type Queue } from '@rms/postgres/db';
import { type Notice, NoticeSchema } from '@rms/proto/rms/events/v1/notice_pb';
import type { Logger } from '@rms/runtime/logging';
import type { Worker } from '@rms/runtime/service';
import type { Pages } from '../notify/pages.ts';
import {
  addDisabled,
  endIncidents,
  forgetRun,
  lockEvaluation,
  noteSequence,
  removeDisabled,
  type WebhookRef,
} from './notice-queries.ts';

export interface NoticeConsumerParts {
  readonly pool: Pool;
  /** The evaluator's queue. */
  readonly evaluations: Pick<Queue, 'wake'>;
  readonly bus: EventBus;
  readonly topic: string;
  readonly group: string;
  readonly pages: Pages;
  readonly log: Logger;
}

/**
 * Creates the consumer of notices about webhooks. A notice states the situation as of its sequence, so a late or
 * repeated notice changes nothing. Notices of releases that assigned no sequence (0) are ordered by time.
 */
export function createNoticeConsumer(parts: NoticeConsumerParts): Worker {
  const { pool, evaluations, bus, topic, group, pages, log } = parts;
  const take = async (record: ConsumedRecord) => {
    const notice = read(record);
    const ref = notice && webhookOf(notice);
    if (!notice || !ref) {
      log.error({ partition: record.partition, offset: record.offset }, 'skipped an unreadable notice');
      return;
    }
    const at = notice.createTime ? timestampDate(notice.createTime) : new Date();
    await inTransaction(pool, async (tx) => {
      await lockEvaluation(tx, ref);
      const isOrdered = notice.sequence > 0n;
      if (isOrdered && !(await noteSequence(tx, ref, notice.sequence))) return;
      const enabledAt = isOrdered ? undefined : at;
      if (notice.type === 'webhook.disabled') {
        await addDisabled(tx, ref, { reason: notice.reason, url: notice.url, at });
        await forgetRun(tx, ref);
      } else if (notice.type === 'webhook.enabled') {
        await removeDisabled(tx, ref, enabledAt);
      } else if (notice.type === 'webhook.deleted') {
        await removeDisabled(tx, ref, enabledAt);
        await forgetRun(tx, ref);
        await pages.queueEnds(tx, await endIncidents(tx, ref));
      }
    });
    evaluations.wake();
  };
  const onBatch = async (records: readonly ConsumedRecord[], signal: AbortSignal) => {
    for (const record of records) {
      signal.throwIfAborted();
      try {
        await take(record);
      } catch (err) {
        // Invalid data of a workspace must not block the others' notices. Any other failure is retried.
        if (!isRefusal(err)) throw err;
        log.error({ err, partition: record.partition, offset: record.offset }, 'skipped an invalid notice');
      }
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
  const known = environmentOf(environment);
  if (workspaceId === '' || subjectId === '' || known === undefined) return undefined;
  return { workspaceId, environment: known, webhookId: subjectId };
}
