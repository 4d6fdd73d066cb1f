import type { Environment, TenantScope } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import { eventsOfRequest } from './events-of-request.ts';

/** An event without its body, and its path through the bus. */
export interface EventProgress {
  readonly id: string;
  readonly environment: Environment;
  readonly type: string;
  readonly resourceId: string;
  /** Position in the feed of its tenant. */
  readonly position: bigint;
  readonly createdAt: Date;
  /** Null if the event was stored by a version that did not record the time. */
  readonly storedAt: Date | null;
  readonly busPartition: number | null;
  readonly busOffset: bigint | null;
  readonly traceparent: string;
  /** Empty if the event was stored by a version that did not record it. */
  readonly actor: string;
}

const columns = `e.id, e.environment, type, resource_id, position, created_at, stored_at, bus_partition, bus_offset, traceparent, actor`;

/** Reads the events that a request caused, in ID order. */
export async function readEventProgress(
  db: Queryable,
  { workspaceId, environments }: TenantScope,
  requestId: string,
  limit: number,
): Promise<EventProgress[]> {
  const { rows } = await db.query<
    Omit<EventProgress, 'position' | 'busOffset'> & { position: string; busOffset: string | null }
  >(
    `select id, e.environment, type, resource_id as "resourceId", position, created_at as "createdAt",
            stored_at as "storedAt", bus_partition as "busPartition", bus_offset as "busOffset", traceparent, actor
       from unnest($2::text[]) as scope (environment)
      cross join lateral (${eventsOfRequest(columns, '$3')}) as e
      order by id limit $4`,
    [workspaceId, environments, requestId, limit],
  );
  return rows.map((row) => ({
    ...row,
    position: BigInt(row.position),
    busOffset: row.busOffset === null ? null : BigInt(row.busOffset),
  }));
}
