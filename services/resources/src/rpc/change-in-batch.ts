import { coalesce } from '@rms/async';
import type { RmsError } from '@rms/base/errors';
import { takeAuditPace } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import { applyChanges, type Change, type CountChange } from '../resource/change.ts';
import { appendAudits, appendEvents, randomShard } from '../resource/record.ts';
import {
  type Resource,
  type ResourceRef,
  type ResourceRow,
  refParameters,
  requested,
  resourceColumns,
  toResource,
} from '../resource/resource.ts';
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
    { maxBatch: transactionBatch, maxInFlight: transactionsInFlight, tenantOf: ({ ref }) => ref.workspaceId },
  );
  return async (change, signal) => {
    const { ref, cause, action } = change;
    if (action.kind === 'update') {
      const { workspaceId, environment } = ref;
      await takeAuditPace(pool, cause, [{ workspaceId, environment, action: 'resource.updated' }]);
    }
    return changeTogether(change, signal);
  };
}

/** Deletes the rows. The transaction must hold the row locks. */
async function deleteResources(tx: Queryable, refs: readonly ResourceRef[]): Promise<void> {
  if (refs.length === 0) return;
  await tx.query({
    name: 'resources-delete',
    text: `
      delete from resources.resources as r using ${requested}
       where r.workspace_id = requested.workspace_id and r.environment = requested.environment and r.id = requested.id`,
    values: refParameters(refs),
  });
}

/**
 * Reads the resources that exist among `refs` and locks them until the transaction ends. Rows are locked in key order,
 * so that two transactions cannot deadlock.
 */
async function lockResources(tx: Queryable, refs: readonly ResourceRef[]): Promise<Resource[]> {
  const { rows } = await tx.query<ResourceRow>({
    name: 'resources-lock',
    text: `
      select ${resourceColumns()} from resources.resources as r
       where (r.workspace_id, r.environment, r.id) in (select workspace_id, environment, id from ${requested})
       order by r.workspace_id, r.environment, r.id
         for update`,
    values: refParameters(refs),
  });
  return rows.map(toResource);
}

/** Writes the columns that an update can change. The transaction must hold the row locks. */
async function updateResources(tx: Queryable, resources: readonly Resource[]): Promise<void> {
  if (resources.length === 0) return;
  await tx.query({
    name: 'resources-update',
    text: `
      update resources.resources as r
         set status = u.status, name = u.name, metadata = u.metadata::json, updated_at = u.updated_at,
             sequence = u.sequence
        from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[],
                    $8::bigint[])
          as u (workspace_id, environment, id, status, name, metadata, updated_at, sequence)
       where r.workspace_id = u.workspace_id and r.environment = u.environment and r.id = u.id`,
    values: [
      ...refParameters(resources),
      resources.map(({ status }) => status),
      resources.map(({ name }) => name),
      resources.map(({ metadataJson }) => metadataJson),
      resources.map(({ updatedAt }) => updatedAt),
      resources.map(({ sequence }) => sequence),
    ],
  });
}

/**
 * Adds `changes` to the totals. Rows are written in key order, so that two transactions cannot deadlock. The totals are
 * exact because this runs in the transaction that makes the changes.
 */
async function addCounts(tx: Queryable, changes: readonly CountChange[]): Promise<void> {
  const sums = sumUp(changes);
  if (sums.length === 0) return;
  await tx.query({
    name: 'counts-add',
    text: `
      insert into resources.resource_counts as counts (workspace_id, environment, status, shard, count)
      select workspace_id, environment, status, $5, change
        from unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) as c (workspace_id, environment, status, change)
       order by workspace_id collate "C", environment collate "C", status collate "C"
          on conflict (workspace_id, environment, status, shard) do update set count = counts.count + excluded.count`,
    values: [
      sums.map(({ workspaceId }) => workspaceId),
      sums.map(({ environment }) => environment),
      sums.map(({ status }) => status),
      sums.map(({ change }) => change),
      randomShard(),
    ],
  });
}

/** Adds the changes of each total up. */
function sumUp(changes: readonly CountChange[]): CountChange[] {
  const sums = new Map<string, CountChange>();
  for (const change of changes) {
    const key = `${change.workspaceId}/${change.environment}/${change.status}`;
    sums.set(key, { ...change, change: (sums.get(key)?.change ?? 0) + change.change });
  }
  return [...sums.values()].filter(({ change }) => change !== 0);
}
