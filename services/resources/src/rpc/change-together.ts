import { inTransaction } from '@rms/db';
import type { RmsError } from '@rms/errors';
import { appendEvents } from '@rms/outbox';
import { coalesce } from '@rms/rpc';
import { addCounts } from '../counts/count-queries.ts';
import { applyChanges, type Change } from '../resource/change.ts';
import type { Resource } from '../resource/resource.ts';
import { deleteResources, lockResources, updateResources } from '../resource/resource-queries.ts';
import type { WriteParts } from './parts.ts';

const transactionBatch = 200;
const transactionsInFlight = 2;

/**
 * Changes of all calls under way gather, and go through one transaction together: rows locked, changed in memory by the
 * rules, written with their totals and events.
 */
export function changeTogether(parts: WriteParts): (change: Change) => Promise<Resource | RmsError> {
  const { pool, partitions, committed, failed } = parts;
  return coalesce(
    async (changes: Change[]) => {
      const outcome = await inTransaction(pool, async (tx) => {
        const resources = await lockResources(
          tx,
          changes.map(({ ref }) => ref),
        );
        const outcome = applyChanges(resources, changes, partitions);
        await updateResources(tx, outcome.updated);
        await deleteResources(tx, outcome.deleted);
        await addCounts(tx, outcome.counts);
        await appendEvents(tx, outcome.events);
        return outcome;
      }).catch((error: unknown) => {
        failed(error);
        throw error;
      });
      if (outcome.events.length > 0) committed(new Set(outcome.events.map(({ partition }) => partition)));
      return outcome.answers;
    },
    { maxBatch: transactionBatch, maxInFlight: transactionsInFlight },
  );
}
