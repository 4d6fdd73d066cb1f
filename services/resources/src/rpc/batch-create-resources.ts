import { createHash } from 'node:crypto';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { coalesce } from '@rms/async';
import { RmsError } from '@rms/base/errors';
import type { Tenant } from '@rms/base/tenant';
import { idempotencyKeyProblem } from '@rms/base/value-rules';
import { takeAuditPace } from '@rms/postgres/audit';
import { inTransaction, type Pool, type Queryable } from '@rms/postgres/db';
import { ResourceSchema } from '@rms/proto/rms/resources/v1/resource_pb';
import type {
  CreateResourceRequest,
  CreateResourceResultSchema,
  ResourcesService,
} from '@rms/proto/rms/resources/v1/resources_service_pb';
import type { Handlers } from '@rms/rpc';
import {
  type AuditedChange,
  appendAudits,
  auditOf,
  causeOf,
  eventColumns,
  eventParameters,
  makeEvent,
  type OutboxEvent,
  randomShard,
  unnestEvents,
} from '../resource/record.ts';
import {
  canonicalMetadata,
  checkMetadata,
  checkName,
  fromInputTypeMessage,
  makeResource,
  type Resource,
  refuse,
  tenantOf,
  toResourceMessage,
} from '../resource/resource.ts';
import { serveAll, statementsInFlight, toItemError, type WriteParts } from './parts.ts';

type Result = MessageInitShape<typeof CreateResourceResultSchema>;

/** A resource to create, and what is written with it. */
interface Creation {
  readonly resource: Resource;
  /** `resource.created`. */
  readonly event: OutboxEvent;
  readonly audits: readonly AuditedChange[];
  /** The record of the request's Idempotency-Key; undefined: it has none. */
  readonly record: IdempotencyRecord | undefined;
}

interface IdempotencyRecord {
  readonly key: string;
  /** Requests with the same key must have the same fingerprint. */
  readonly fingerprint: Buffer;
  /** An encoded rms.resources.v1.Resource. */
  readonly response: Uint8Array;
}

const statementBatch = 200;
/** Attempts to claim a key. A retry is needed only if a record expires between the claim and the lookup. */
const claimTries = 3;

/**
 * Collects the creations of concurrent calls into one statement and one commit. Drops a creation that is still queued
 * when its call ends, because the caller may repeat it.
 */
export function batchCreateResources(parts: WriteParts): Handlers<typeof ResourcesService>['batchCreateResources'] {
  const createTogether = coalesce((creations: Creation[]) => createBatch(parts, creations), {
    maxBatch: statementBatch,
    maxInFlight: statementsInFlight,
    tenantOf: ({ resource }) => resource.workspaceId,
  });
  const createOne = async (request: CreateResourceRequest, signal: AbortSignal): Promise<Result> => {
    try {
      await parts.clock.ready();
      const creation = toCreation(request, parts);
      // Before it shares a transaction with the changes of other calls.
      for (const { origin, entry } of creation.audits) await takeAuditPace(parts.pool, origin, [entry]);
      return await createTogether(creation, signal);
    } catch (error) {
      parts.failed(error);
      return { result: { case: 'error', value: toItemError(error) } };
    }
  };
  return async ({ requests }, call) => ({ results: await serveAll(call, requests, createOne) });
}

/** Validates one request completely, so that it cannot fail the statement that it shares with other requests. */
function toCreation(request: CreateResourceRequest, parts: WriteParts): Creation {
  const { context, name, idempotencyKey: key } = request;
  const tenant = tenantOf(context);
  const { metadataJson, violations } = checkMetadata(request.metadataJson);
  const keyProblem = key === '' ? undefined : idempotencyKeyProblem(key);
  refuse([
    ...checkName(name),
    ...violations,
    ...(keyProblem ? [{ field: 'Idempotency-Key', message: keyProblem }] : []),
  ]);
  const input = { name, inputType: fromInputTypeMessage(request.inputType), metadataJson };
  const resource = makeResource(tenant, input, parts.newId);
  const record = key === '' ? undefined : recordOf(key, resource);
  const cause = causeOf(context);
  const event = makeEvent('resource.created', resource, cause, parts);
  return { resource, event, audits: auditOf(cause, { after: resource }, parts), record };
}

/** Returns the record of a key. Its fingerprint does not depend on the order of the metadata keys. */
function recordOf(key: string, resource: Resource): IdempotencyRecord {
  const content = JSON.stringify([resource.name, resource.inputType, canonicalMetadata(resource.metadataJson)]);
  const fingerprint = createHash('sha256').update(content).digest();
  return { key, fingerprint, response: toBinary(ResourceSchema, create(ResourceSchema, toResourceMessage(resource))) };
}

/** Creates the resources whose keys are not taken, and answers the other requests from the records of their keys. */
async function createBatch(parts: WriteParts, creations: readonly Creation[]): Promise<Result[]> {
  const results = new Map<Creation, Result>();
  const open = () => creations.filter((creation) => !results.has(creation));
  let remaining = creations;
  for (let attempt = 0; attempt < claimTries && remaining.length > 0; attempt += 1) {
    // Of the creations with the same key, only the first is tried. The others find its record or try in the next round.
    const first = firstOfEachKey(remaining);
    const outboxIds = await createAudited(parts.keyedPool, first);
    const committed = first.flatMap((creation) => {
      const id = outboxIds.get(creation.resource.id);
      if (id === undefined) return [];
      results.set(creation, { result: { case: 'resource', value: toResourceMessage(creation.resource) } });
      return [{ ...creation.event, id }];
    });
    if (committed.length > 0) parts.created(committed);
    await replay(parts.pool, open(), results);
    remaining = open();
  }
  return creations.map(
    (creation) => results.get(creation) ?? { result: { case: 'error', value: toItemError(new RmsError('conflict')) } },
  );
}

/** Leaves out creations with the key of an earlier one. */
function firstOfEachKey(creations: readonly Creation[]): Creation[] {
  const seen = new Set<string>();
  return creations.filter(({ resource, record }) => {
    const key = record && scopedKey(resource, record.key);
    if (key === undefined) return true;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

function scopedKey({ workspaceId, environment }: Tenant, key: string): string {
  return `${workspaceId}/${environment}/${key}`;
}

/** Sets the results of creations with a stored record. */
async function replay(pool: Pool, creations: readonly Creation[], results: Map<Creation, Result>): Promise<void> {
  if (creations.length === 0) return;
  const keyed = creations.flatMap(({ resource, record }) => (record ? [{ resource, key: record.key }] : []));
  const { rows } = await pool.query<Tenant & { key: string; fingerprint: Buffer; response: Buffer }>({
    name: 'idempotency-read',
    text: `
      select k.workspace_id as "workspaceId", k.environment, k.key, k.fingerprint, k.answer as response
        from unnest($1::text[], $2::text[], $3::text[]) as requested (workspace_id, environment, key)
        join resources.idempotency_keys as k using (workspace_id, environment, key)`,
    values: [
      keyed.map(({ resource }) => resource.workspaceId),
      keyed.map(({ resource }) => resource.environment),
      keyed.map(({ key }) => key),
    ],
  });
  const stored = new Map(rows.map((row) => [scopedKey(row, row.key), row]));
  for (const creation of creations) {
    const { resource, record } = creation;
    const found = record && stored.get(scopedKey(resource, record.key));
    if (!found) continue;
    const isSame = found.fingerprint.equals(record.fingerprint);
    results.set(
      creation,
      isSame
        ? { result: { case: 'resource', value: fromBinary(ResourceSchema, found.response) }, replayed: true }
        : { result: { case: 'error', value: toItemError(new RmsError('idempotency_key_reused')) } },
    );
  }
}

/** Creates the resources; see {@link createResources}. Audit entries, if any, are written in the same transaction. */
function createAudited(pool: Pool, creations: readonly Creation[]): Promise<Map<string, string>> {
  if (creations.every(({ audits }) => audits.length === 0)) return createResources(pool, creations);
  return inTransaction(pool, async (tx) => {
    const created = await createResources(tx, creations);
    await appendAudits(
      tx,
      creations.flatMap(({ resource, audits }) => (created.has(resource.id) ? audits : [])),
    );
    return created;
  });
}

/**
 * Writes the idempotency records, rows, totals and outbox rows of all `creations` in one statement and one commit.
 * Returns the outbox row IDs by the created resource's ID. A resource is missing if its idempotency key was
 * already taken. No two `creations` may have the same idempotency key.
 */
async function createResources(db: Queryable, creations: readonly Creation[]): Promise<Map<string, string>> {
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
  const guarded = creations.flatMap(({ resource, record }) => (record ? [{ resource, ...record }] : []));
  if (guarded.length > 0) {
    values.push(
      guarded.map(({ resource }) => resource.workspaceId),
      guarded.map(({ resource }) => resource.environment),
      guarded.map(({ key }) => key),
      guarded.map(({ fingerprint }) => fingerprint),
      guarded.map(({ resource }) => resource.id),
      guarded.map(({ response }) => response),
    );
  }
  const [name, text] =
    guarded.length === 0 ? ['resources-create', createSql] : ['resources-create-guarded', guardedSql];
  const { rows } = await db.query<{ resourceId: string; outboxId: string }>({ name, text, values });
  return new Map(rows.map(({ resourceId, outboxId }) => [resourceId, outboxId]));
}

const input = `
  unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[])
    with ordinality as i (workspace_id, environment, id, name, metadata, input_type, created_at, position)`;

const resourceColumns =
  'workspace_id, environment, id, status, name, metadata, input_type, created_at, updated_at, sequence';

/**
 * Returns CTEs that write the rows, totals and outbox rows of the resources in the CTE `created`, and the select.
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
  )
  select record_key as "resourceId", id as "outboxId" from appended`;

const createSql = `
  with created as (select * from ${input}), ${writes('true')}`;

/**
 * If another transaction is claiming the same key, the insert waits for it and then does not claim the key. An expired
 * key is claimed again. Keys are claimed in key order, so that two statements cannot deadlock.
 */
const guardedSql = `
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
  }`;
