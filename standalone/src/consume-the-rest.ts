import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import type { ConsumedRecord, EventBus } from '@rms/bus';
import { NoticeSchema } from '@rms/proto/rms/events/v1/notice_pb';
import { type Logger, superviseWorkers } from '@rms/service';

interface Topics {
  readonly deadLetterTopic: string;
  readonly noticeTopic: string;
}

const group = 'standalone';

/**
 * Consumers of the topics that Kafka would keep and nobody here reads: the bus inside the process acknowledges only what
 * somebody has handled (docs/adr/0003). Dead letters go into a file of the data folder, notices into the log. The function
 * that it returns ends them.
 */
export function consumeTheRest(
  bus: EventBus,
  { deadLetterTopic, noticeTopic }: Topics,
  { dataDir, log }: { readonly dataDir: string; readonly log: Logger },
): () => Promise<void> {
  const file = join(dataDir, 'dead-letters.jsonl');
  const keep = async (records: readonly ConsumedRecord[]) => {
    // On the disk before it is acknowledged.
    await appendFile(file, records.map(toLine).join(''), { mode: 0o600, flush: true });
  };
  const tell = async (records: readonly ConsumedRecord[]) => {
    for (const { value } of records) {
      const { id, type, workspaceId, subjectId, reason } = fromBinary(NoticeSchema, value);
      log.info({ notice_id: id, type, workspace_id: workspaceId, subject_id: subjectId, reason }, 'notice');
    }
  };
  const supervisor = superviseWorkers(
    [
      { name: 'dead-letters', run: (signal) => bus.consume({ topic: deadLetterTopic, group, onBatch: keep }, signal) },
      { name: 'notices', run: (signal) => bus.consume({ topic: noticeTopic, group, onBatch: tell }, signal) },
    ],
    log,
  );
  return () => supervisor.stop();
}

/** A line of JSON; the value, which may be any bytes, in base64. */
function toLine({ key, value, headers }: ConsumedRecord): string {
  return `${JSON.stringify({ headers, key, value: Buffer.from(value).toString('base64') })}\n`;
}
