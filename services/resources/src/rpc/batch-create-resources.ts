import { createHash } from 'node:crypto';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { coalesce } from '@rms/async';
import { RmsError } from '@rms/base/errors';
import type { Tenant } from '@rms/base/tenant';
import { idempotencyKeyProblem } from '@rms/base/value-rules';
import { takeAuditPace } from '@rms/postgres/audit';
import { inTransaction, type Pool, type Queryable, type Statement } from '@rms/postgres/db';
import { ResourceSchema } from '@rms/proto/rms/resources/v1/resource_pb';
import type {
  CreateResourceRequest,
  CreateResourceResultSchema,
  ResourcesService,
} from '@rms/proto/rms/resources/v1/resources_service_pb';
import type { Handlers } from '@rms/rpc';
import { eventColumns, eventParameters, type OutboxEvent, unnestEvents } from '../outbox/append-events.ts';
import { type AuditedChange, appendAudits, auditOf, type Cause, causeOf, makeEvent } from '../resource/record.ts';
import {
  canonicalMetadata,
  checkMetadata,
  checkName,
  fromInputTypeMessage,
  type InputType,
  makeResource,
  type Resource,
  refuse,
  tenantOf,
  toResourceMessage,
} from '../resource/resource.ts';
import { randomShard, serveAll, statementsInFlight, toItemError, type WriteParts } from './parts.ts';

type Result = MessageInitShape<typeof CreateResourceResultSchema>;

/** A resource to create, its `resource.created` event, and the idempotency key of the request, if any. */
interface Creation {
  readonly resource: Resource;
  readonly event: OutboxEvent;
  readonly audits: readonly AuditedChange[];
  readonly idempotency: { key: string; fingerprint: Buffer; response: Uint8Array } | undefined;
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
      const cause = causeOf(request.context);
      const creation = toCreation(request, cause, parts);
      if (creation.audits.length > 0) {
        const { workspaceId, environment } = creation.resource;
        // Before it shares a transaction with the changes of other calls.
        await takeAuditPace(parts.pool, cause, [{ workspaceId, environment, action: 'resource.created' }]);
      }
      return await createTogether(creation, signal);
    } catch (error) {
      parts.failed(error);
      return { result: { case: 'error', value: toItemError(error) } };
    }
  };
  return async ({ requests }, call) => ({ results: await serveAll(call, requests, createOne) });
}

/** Validates one request completely, so that it cannot fail the statement that it shares with other requests. */
function toCreation(request: CreateResourceRequest, cause: Cause, parts: WriteParts): Creation {
  const tenant = tenantOf(request.context);
  const { name, idempotencyKey } = request;
  const { metadataJson, violations } = checkMetadata(request.metadataJson);
  refuse([...checkName(name), ...violations, ...checkIdempotencyKey(idempotencyKey)]);
  const input = { name, inputType: fromInputTypeMessage(request.inputType), metadataJson };
  const resource = makeResource(tenant, input, parts.newId);
  const event = makeEvent('resource.created', resource, cause, parts);
  const audits = auditOf(cause, { after: resource }, parts);
  if (idempotencyKey === '') return { resource, event, audits, idempotency: undefined };
  const response = toBinary(ResourceSchema, create(ResourceSchema, toResourceMessage(resource)));
  return { resource, event, audits, idempotency: { key: idempotencyKey, fingerprint: fingerprintOf(input), response } };
}

function checkIdempotencyKey(key: string) {
  const message = key === '' ? undefined : idempotencyKeyProblem(key);
  return message ? [{ field: 'Idempotency-Key', message }] : [];
}

async function createBatch(parts: WriteParts, creations: readonly Creation[]): Promise<Result[]> {
  const results = new Map<Creation, Result>();
  let remaining = creations;
  for (let attempt = 0; attempt < claimTries && remaining.length > 0; attempt += 1) {
    // Of the creations with the same key, only the first is tried. The others find its record or try in the next round.
    const { first, others } = splitByKey(remaining);
    const created = await createAudited(parts.keyedPool, first);
    const committed = first.flatMap(({ resource, event }) => {
      const id = created.get(resource.id);
      return id === undefined ? [] : [{ ...event, id }];
    });
    if (committed.length > 0) parts.created(committed);
    for (const creation of first) {
      if (created.has(creation.resource.id)) results.set(creation, { result: toResponse(creation) });
    }
    remaining = await replay(parts, [...first.filter((creation) => !results.has(creation)), ...others], results);
  }
  return creations.map(
    (creation) => results.get(creation) ?? { result: { case: 'error', value: toItemError(new RmsError('conflict')) } },
  );
}

/** Creates the resources; see {@link createResources}. Audit entries, if any, are written in the same transaction. */
function createAudited(pool: Pool, creations: readonly Creation[]): Promise<Map<string, string>> {
  if (creations.every(({ audits }) => audits.length === 0)) return createResources(pool, creations);
  return inTransaction(pool, async (tx) => {
    const created = await createResources(tx, creations);
    const audits = creations.flatMap(({ resource, audits }) => (created.has(resource.id) ? audits : []));
    await appendAudits(tx, audits);
    return created;
  });
}

function toResponse({ resource }: Creation): NonNullable<Result['result']> {
  return { case: 'resource', value: toResourceMessage(resource) };
}

function splitByKey(creations: readonly Creation[]) {
  const seen = new Set<string>();
  const first: Creation[] = [];
  const others: Creation[] = [];
  for (const creation of creations) {
    const key = creation.idempotency && scopedKey({ ...creation.resource, key: creation.idempotency.key });
    if (key !== undefined && seen.has(key)) others.push(creation);
    else first.push(creation);
    if (key !== undefined) seen.add(key);
  }
  return { first, others };
}

/** Sets the results of creations with a stored record. Returns the creations without one. */
async function replay(
  { pool }: WriteParts,
  creations: readonly Creation[],
  results: Map<Creation, Result>,
): Promise<Creation[]> {
  if (creations.length === 0) return [];
  const refs = creations.flatMap(({ resource, idempotency }) =>
    idempotency ? [{ ...resource, key: idempotency.key }] : [],
  );
  const responses = new Map((await readResponses(pool, refs)).map((response) => [scopedKey(response), response]));
  const remaining: Creation[] = [];
  for (const creation of creations) {
    const { resource, idempotency } = creation;
    const stored = idempotency && responses.get(scopedKey({ ...resource, key: idempotency.key }));
    if (!stored) remaining.push(creation);
    else if (stored.fingerprint.equals(idempotency.fingerprint)) {
      const value = fromBinary(ResourceSchema, stored.response);
      results.set(creation, { result: { case: 'resource', value }, replayed: true });
    } else {
      const value = toItemError(new RmsError('idempotency_key_reused'));
      results.set(creation, { result: { case: 'error', value } });
    }
  }
  return remaining;
}

/** The record of an Idempotency-Key. */
interface StoredResponse extends Tenant {
  readonly key: string;
  readonly fingerprint: Buffer;
  /** An encoded rms.resources.v1.Resource. */
  readonly response: Buffer;
}

/** Reads the records stored under `keys`, in any order. */
async function readResponses(db: Queryable, keys: readonly (Tenant & { key: string })[]): Promise<StoredResponse[]> {
  const { rows } = await db.query<StoredResponse>({
    name: 'idempotency-read',
    text: `
      select k.workspace_id as "workspaceId", k.environment, k.key, k.fingerprint, k.answer as response
        from unnest($1::text[], $2::text[], $3::text[]) as requested (workspace_id, environment, key)
        join resources.idempotency_keys as k using (workspace_id, environment, key)`,
    values: [
      keys.map(({ workspaceId }) => workspaceId),
      keys.map(({ environment }) => environment),
      keys.map(({ key }) => key),
    ],
  });
  return rows;
}

function scopedKey({
  workspaceId,
  environment,
  key,
}: {
  workspaceId: string;
  environment: string;
  key: string;
}): string {
  return `${workspaceId}/${environment}/${key}`;
}

/**
 * Hashes a create request's content, independent of the order of its metadata keys. Requests that share an
 * idempotency key must have the same fingerprint.
 */
function fingerprintOf(input: { name: string; inputType: InputType; metadataJson: string }): Buffer {
  const canonical = JSON.stringify([input.name, input.inputType, canonicalMetadata(input.metadataJson)]);
  return createHash('sha256').update(canonical).digest();
}

const input = `
  unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[])
    with ordinality as i (workspace_id, environment, id, name, metadata, input_type, created_at, position)`;

const resourceColumns =
  'workspace_id, environment, id, status, name, metadata, input_type, created_at, updated_at, sequence';

/**
 * Returns CTEs that write the rows, totals and outbox rows of the resources in the CTE `created`.
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
