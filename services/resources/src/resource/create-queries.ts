import type { Queryable, Statement } from '@rms/postgres/db';
import { eventColumns, eventParameters, type OutboxEvent, unnestEvents } from '../outbox/append-events.ts';
import { randomShard } from './count-queries.ts';
import type { Resource } from './resource.ts';
import type { AuditedChange } from './resource-audit.ts';

/** A resource to create, its `resource.created` event, and the idempotency key of the request, if any. */
export interface Creation {
  readonly resource: Resource;
  readonly event: OutboxEvent;
  readonly audits: readonly AuditedChange[];
  readonly idempotency: { key: string; fingerprint: Buffer; response: Uint8Array } | undefined;
}

const input = `
  unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[])
    with ordinality as i (workspace_id, environment, id, name, metadata, input_type, created_at, position)`;

const resourceColumns =
  'workspace_id, environment, id, status, name, metadata, input_type, created_at, updated_at, sequence';

/**
 * @param appended a condition on the events to append
 */
const writes = (appended: string) => `
  inserted as (
    insert into resources.resources (${resourceColumns})
    select workspace_id, environment, id, 'active', name, metadata::json, input_type, created_at, created_at, 1
      from created
  ), counted as (
    insert into resources.resource_counts as counts (workspace_id, environment, status, shard, count)
    select workspace_id, environment, 'active', $8, count(*)
      from created group by 1, 2 order by workspace_id collate "C", environment collate "C"
        on conflict (workspace_id, environment, status, shard) do update set count = counts.count + excluded.count
  ), appended as (
    insert into outbox.events (${eventColumns})
    select ${eventColumns}
      from ${unnestEvents(9)} with ordinality as e (${eventColumns}, position)
     where ${appended} order by position
    returning id, record_key
  )`;

const outcome = 'select record_key as "resourceId", id as "outboxId" from appended';

const createSql = `
  with created as (select * from ${input}), ${writes('true')}
  ${outcome}`;

/**
 * If another transaction is claiming the same key, the insert waits for it and then does not claim the key. An expired
 * key is claimed again. Keys are claimed in key order, so that two statements cannot deadlock.
 */
const createGuardedSql = `
  with input as (
    select * from ${input}
  ), guard as (
    select * from unnest($19::text[], $20::text[], $21::text[], $22::bytea[], $23::text[], $24::bytea[])
        as g (workspace_id, environment, key, fingerprint, resource_id, answer)
  ), claimed as (
    insert into resources.idempotency_keys as k
           (workspace_id, environment, key, fingerprint, resource_id, answer, expires_at)
    select workspace_id, environment, key, fingerprint, resource_id, answer, now() + interval '24 hours'
      from guard order by workspace_id collate "C", environment collate "C", key collate "C"
        on conflict (workspace_id, environment, key) do update
       set fingerprint = excluded.fingerprint, resource_id = excluded.resource_id, answer = excluded.answer,
           expires_at = excluded.expires_at
     where k.expires_at <= resources.agreed_now()
    returning resource_id
  ), created as (
    select * from input
     where id not in (select resource_id from guard) or id in (select resource_id from claimed)
  ), ${
    // A subquery in a condition is hashed, which `in` alone is not while the plan is kept.
    writes('(record_key in (select id from created)) is true')
  }
  ${outcome}`;

/**
 * Writes the idempotency records, rows, totals and outbox rows of all `creations` in one statement and one commit.
 * Returns the IDs of the outbox rows by the ID of the created resource. A resource is missing if its idempotency key was
 * already taken. No two `creations` may have the same idempotency key.
 */
export async function createResources(db: Queryable, creations: readonly Creation[]): Promise<Map<string, string>> {
  const values: unknown[] = [
    creations.map(({ resource }) => resource.workspaceId),
    creations.map(({ resource }) => resource.environment),
    creations.map(({ resource }) => resource.id),
    creations.map(({ resource }) => resource.name),
    creations.map(({ resource }) => resource.metadataJson),
    creations.map(({ resource }) => resource.inputType),
    creations.map(({ resource }) => resource.createdAt),
    randomShard(),
    ...eventParameters(creations.map(({ event }) => event)),
  ];
  const guarded = creations.flatMap(({ resource, idempotency }) => (idempotency ? [{ resource, ...idempotency }] : []));
  if (guarded.length === 0) return run(db, { name: 'resources-create', text: createSql, values });
  values.push(
    guarded.map(({ resource }) => resource.workspaceId),
    guarded.map(({ resource }) => resource.environment),
    guarded.map(({ key }) => key),
    guarded.map(({ fingerprint }) => fingerprint),
    guarded.map(({ resource }) => resource.id),
    guarded.map(({ response }) => response),
  );
  return run(db, { name: 'resources-create-guarded', text: createGuardedSql, values });
}

async function run(db: Queryable, statement: Statement): Promise<Map<string, string>> {
  const { rows } = await db.query<{ resourceId: string; outboxId: string }>(statement);
  return new Map(rows.map(({ resourceId, outboxId }) => [resourceId, outboxId]));
}
