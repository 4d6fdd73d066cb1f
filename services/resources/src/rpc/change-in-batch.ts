import { coalesce } from '@rms/async';
import type { RmsError } from '@rms/base/errors';
import { inTransaction } from '@rms/postgres/db';
import { appendEvents } from '../outbox/append-events.ts';
import { applyChanges, type Change } from '../resource/change.ts';
import { addCounts } from '../resource/count-queries.ts';
import type { Resource } from '../resource/resource.ts';
import { appendAudits, takePace } from '../resource/resource-audit.ts';
import { deleteResources, lockResources, updateResources } from '../resource/resource-queries.ts';
import type { WriteParts } from './parts.ts';

const transactionBatch = 200;
const transactionsInFlight = 2;

/** Applies a change, unless `signal` aborts while the change is queued. */
export type ChangeInBatch = (change: Change, signal: AbortSignal) => Promise<Resource | RmsError>;

/**
 * Collects the changes of concurrent calls into one transaction. It locks the rows, applies the changes in memory, and
 * writes the rows, totals, events and audit entries.
 */
export function changeInBatch(parts: WriteParts): ChangeInBatch {
  const { pool, clock, committed, failed } = parts;
  const changeParts = { ...parts, nowMs: clock.nowMs };
  const changeTogether = coalesce(
    async (changes: Change[]) => {
      await clock.ready();
      const outcome = await inTransaction(pool, async (tx) => {
        const resources = await lockResources(
          tx,
          changes.map(({ ref }) => ref),
        );
        const outcome = applyChanges(resources, changes, changeParts);
        await updateResources(tx, outcome.updated);
        await deleteResources(tx, outcome.deleted);
        await addCounts(tx, outcome.counts);
        await appendEvents(tx, outcome.events);
        await appendAudits(tx, outcome.audits);
        return outcome;
      }).catch((error: unknown) => {
        failed(error);
        throw error;
      });
      if (outcome.events.length > 0) committed(new Set(outcome.events.map(({ partition }) => partition)));
      return outcome.responses;
    },
    { maxBatch: transactionBatch, maxInFlight: transactionsInFlight, laneOf: ({ ref }) => ref.workspaceId },
  );
  return async (change, signal) => {
    const { ref, cause, action } = change;
    if (action.kind === 'update') await takePace(pool, cause, ref, 'resource.updated');
    return changeTogether(change, signal);
  };
}
