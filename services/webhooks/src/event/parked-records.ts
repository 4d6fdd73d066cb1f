import { idTime } from '@rms/base/ids';
import { type DatabaseTime, inTransaction, isRefusal, type Pool, type Queue } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import type { Worker } from '@rms/runtime/service';
import type { DeliveryEngine } from '../engine/engine.ts';
import {
  deleteLetters,
  type LetterTenant,
  letterTenantOf,
  moveLetter,
  readParked,
  readParkedTenants,
  refuseLetter,
  type StoredLetter,
} from './dead-letter-queries.ts';
import { type Arrival, decode, isDead } from './decode.ts';
import { eventsPerStatement } from './event-store.ts';
import { fanOutStatements } from './fan-out-queries.ts';
import type { FeedWatchers } from './feed-watchers.ts';
import { logPartitions } from './partitions.ts';
import { createTenantWorker, tryTenantLock } from './tenant-worker.ts';

export interface ParkedRecordsParts {
  readonly pool: Pool;
  /** The queue of parked records. */
  readonly queue: Queue;
  readonly engine: DeliveryEngine;
  readonly watchers: FeedWatchers;
  readonly deferred: Queue;
  readonly time: DatabaseTime;
  /** Retention of events: older ones cannot be stored. */
  readonly retentionDays: number;
  readonly log: Logger;
}

/** Values per transaction. */
const valueBytes = 4 * 1024 * 1024;

/**
 * Creates the worker that stores the events of parked records, in the order of their arrival; see
 * {@link createTenantWorker}. All their deliveries are deferred. A step is one transaction, with fewer records after
 * each failure. A record that cannot become an event stays as a dead letter.
 */
export function createParkedRecords(parts: ParkedRecordsParts): Worker {
  const { pool, queue, watchers, deferred, log } = parts;
  return createTenantWorker({
    name: 'parked-records',
    queue,
    readTenants: () => readParkedTenants(pool),
    async step(tenant, failures) {
      const { workspaceId: workspace_id, environment } = tenant;
      const limit = Math.max(1, Math.floor(eventsPerStatement / 2 ** failures));
      const stored = await storeSome(parts, tenant, limit);
      if (!stored) return false;
      if (stored.length > 0) {
        watchers.wake(stored.map(({ event }) => event));
        deferred.wake();
        log.info({ workspace_id, environment, records: stored.length }, 'parked records are stored');
      }
      return true;
    },
    failed: 'parked records cannot be stored; retrying',
    log,
  });
}

/**
 * Stores the first parked records of a tenant, up to `limit`. If PostgreSQL rejects a record's contents, their number
 * is halved until that record is the only one. Returns the stored events; undefined if the tenant has no parked
 * records, or if another instance handles them.
 */
async function storeSome(
  parts: ParkedRecordsParts,
  tenant: LetterTenant,
  limit: number,
): Promise<readonly Arrival[] | undefined> {
  const nowMs = await parts.time.fresh();
  let letters: readonly StoredLetter[] = [];
  try {
    return await inTransaction(parts.pool, async (tx) => {
      if (!(await tryTenantLock(tx, 'dead letters', tenant))) return undefined;
      letters = await readParked(tx, tenant, { limit, bytes: valueBytes });
      if (letters.length === 0) return undefined;
      const arrivals: { readonly id: string; readonly arrival: Arrival }[] = [];
      for (const { id, record } of letters) {
        const decoded = decode(record, nowMs, parts.retentionDays);
        const event = isDead(decoded) ? decoded.event : decoded;
        const owner = letterTenantOf(event);
        if (owner.workspaceId !== tenant.workspaceId || owner.environment !== tenant.environment) {
          await moveLetter(tx, tenant, id, owner);
        } else if (isDead(decoded)) await refuseLetter(tx, tenant, id, decoded);
        else arrivals.push({ id, arrival: { record, event: decoded } });
      }
      const stored = [...new Map(arrivals.map(({ arrival }) => [arrival.event.id, arrival])).values()];
      if (stored.length > 0) {
        await logPartitions.makeFor(
          tx,
          stored.map(({ event }) => idTime(event.id)),
          nowMs,
        );
        const options = { freeCapacity: parts.engine.freeCapacity(), deliveries: 0, areParked: true };
        for (const statement of fanOutStatements(stored, options).statements) await tx.query(statement);
        await deleteLetters(
          tx,
          tenant,
          arrivals.map(({ id }) => id),
        );
      }
      return stored;
    });
  } catch (error) {
    const [first] = letters;
    if (!first || !isRefusal(error)) throw error;
    if (letters.length > 1) return storeSome(parts, tenant, Math.floor(letters.length / 2));
    await refuseLetter(parts.pool, tenant, first.id, { reason: 'refused', detail: (error as Error).message });
    return [];
  }
}
