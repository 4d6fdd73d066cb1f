import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ConsumedRecord, EventBus } from '@rms/bus';
import { type Logger, superviseWorkers } from '@rms/service';

const group = 'standalone';

/**
 * A consumer of the topic that Kafka would keep and nobody here reads: the bus inside the process acknowledges only what
 * somebody has handled (docs/adr/0003). Dead letters go into a file of the data folder. The function that it returns ends
 * it.
 */
export function consumeTheRest(
  bus: EventBus,
  { deadLetterTopic }: { readonly deadLetterTopic: string },
  { dataDir, log }: { readonly dataDir: string; readonly log: Logger },
): () => Promise<void> {
  const file = join(dataDir, 'dead-letters.jsonl');
  const keep = async (records: readonly ConsumedRecord[]) => {
    // On the disk before it is acknowledged.
    await appendFile(file, records.map(toLine).join(''), { mode: 0o600, flush: true });
  };
  const run = (signal: AbortSignal) => bus.consume({ topic: deadLetterTopic, group, onBatch: keep }, signal);
  const supervisor = superviseWorkers([{ name: 'dead-letters', run }], log);
  return () => supervisor.stop();
}

/** A line of JSON; the value, which may be any bytes, in base64. */
function toLine({ key, value, headers }: ConsumedRecord): string {
  return `${JSON.stringify({ headers, key, value: Buffer.from(value).toString('base64') })}\n`;
}
