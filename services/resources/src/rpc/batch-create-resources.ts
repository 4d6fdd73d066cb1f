import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { coalesce } from '@rms/async';
import { RmsError } from '@rms/base/errors';
import { inTransaction, type Pool } from '@rms/postgres/db';
import { ResourceSchema } from '@rms/proto/rms/resources/v1/resource_pb';
import type {
  CreateResourceRequest,
  CreateResourceResultSchema,
  ResourcesService,
} from '@rms/proto/rms/resources/v1/resources_service_pb';
import type { Handlers } from '@rms/rpc';
import { fingerprintOf } from '../idempotency/idempotency.ts';
import { readResponses } from '../idempotency/idempotency-queries.ts';
import { causeOf } from '../resource/cause.ts';
import { type Creation, createResources } from '../resource/create-queries.ts';
import { makeEvent } from '../resource/event.ts';
import { checkMetadata, checkName, makeResource, refuse } from '../resource/resource.ts';
import { appendAudits, auditOf, takePace } from '../resource/resource-audit.ts';
import { fromInputTypeMessage, tenantOf, toResourceMessage } from '../resource/resource-message.ts';
import { serveAll, toItemError, type WriteParts } from './parts.ts';

type Result = MessageInitShape<typeof CreateResourceResultSchema>;

const statementBatch = 200;
const statementsInFlight = 2;
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
    laneOf: ({ resource }) => resource.workspaceId,
  });
  const createOne = async (request: CreateResourceRequest, signal: AbortSignal): Promise<Result> => {
    try {
      await parts.clock.ready();
      const creation = toCreation(request, parts);
      await takePace(parts.pool, causeOf(request.context), creation.resource, 'resource.created');
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
  const tenant = tenantOf(request.context);
  const { name, idempotencyKey } = request;
  const { metadataJson, violations } = checkMetadata(request.metadataJson);
  refuse([...checkName(name), ...violations, ...checkIdempotencyKey(idempotencyKey)]);
  const input = { name, inputType: fromInputTypeMessage(request.inputType), metadataJson };
  const resource = makeResource(tenant, input, parts.newId);
  const cause = causeOf(request.context);
  const event = makeEvent('resource.created', resource, cause, parts);
  const audits = auditOf(cause, { after: resource }, parts);
  if (idempotencyKey === '') return { resource, event, audits, idempotency: undefined };
  const response = toBinary(ResourceSchema, create(ResourceSchema, toResourceMessage(resource)));
  return { resource, event, audits, idempotency: { key: idempotencyKey, fingerprint: fingerprintOf(input), response } };
}

function checkIdempotencyKey(key: string) {
  if (key === '' || /^[\x20-\x7e]{1,255}$/.test(key)) return [];
  return [{ field: 'Idempotency-Key', message: 'must be 1 to 255 printable ASCII characters' }];
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
      return id === undefined ? [] : [{ ...event, id, waitedSeconds: 0 }];
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

/** Sets the results of creations whose key has a stored record. Returns the creations without one. */
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
