import type { Queryable } from '@rms/db';
import type { Environment } from '../subscription/webhook.ts';
import type { WebhookScope } from '../subscription/webhook-queries.ts';

/** An event without its body, and how it has come. */
export interface EventPassage {
  readonly id: string;
  readonly environment: Environment;
  readonly type: string;
  readonly resourceId: string;
  /** In the feed of its tenant. */
  readonly position: bigint;
  readonly createdAt: Date;
  /** Null: it was stored before that was noted. */
  readonly storedAt: Date | null;
  readonly busPartition: number | null;
  readonly busOffset: bigint | null;
  readonly traceparent: string;
}

/** The events that a request has caused, in their order. */
export async function readPassages(
  db: Queryable,
  { workspaceId, environments }: WebhookScope,
  requestId: string,
  limit: number,
): Promise<EventPassage[]> {
  const { rows } = await db.query<
    Omit<EventPassage, 'position' | 'busOffset'> & { position: string; busOffset: string | null }
  >(
    `select id, environment, type, resource_id as "resourceId", position, created_at as "createdAt",
            stored_at as "storedAt", bus_partition as "busPartition", bus_offset as "busOffset", traceparent
       from webhooks.events
      where workspace_id = $1 and environment = any($2) and request_id = $3
      order by id limit $4`,
    [workspaceId, environments, requestId, limit],
  );
  return rows.map((row) => ({
    ...row,
    position: BigInt(row.position),
    busOffset: row.busOffset === null ? null : BigInt(row.busOffset),
  }));
}
