import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ConsumedRecord, EventBus } from '@rms/bus';
import type { Logger } from '@rms/logging';
import { superviseWorkers } from '@rms/service';

const group = 'standalone';

/**
 * Consumes the dead letter topic, which no service reads, and appends its records to a file in DATA_DIR. Without a
 * consumer the in-process bus would never acknowledge these records (docs/adr/0003). Returns a function that stops the
 * consumer.
 */
export function consumeDeadLetters(
  bus: EventBus,
  { deadLetterTopic }: { readonly deadLetterTopic: string },
  { dataDir, log }: { readonly dataDir: string; readonly log: Logger },
): () => Promise<void> {
  const file = join(dataDir, 'dead-letters.jsonl');
  const keep = async (records: readonly ConsumedRecord[]) => {
    // Flush to disk before the records are acknowledged.
    await appendFile(file, records.map(toLine).join(''), { mode: 0o600, flush: true });
  };
  const run = (signal: AbortSignal) => bus.consume({ topic: deadLetterTopic, group, onBatch: keep }, signal);
  const supervisor = superviseWorkers([{ name: 'dead-letters', run }], log);
  return () => supervisor.stop();
}

/** Formats a record as a line of JSON. The value can be any bytes and is encoded as Base64. */
function toLine({ key, value, headers }: ConsumedRecord): string {
  return `${JSON.stringify({ headers, key, value: Buffer.from(value).toString('base64') })}\n`;
}
