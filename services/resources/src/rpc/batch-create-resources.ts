import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { RmsError } from '@rms/errors';
import { ResourceSchema } from '@rms/proto/rms/resources/v1/resource_pb';
import type {
  CreateResourceRequest,
  CreateResourceResultSchema,
  ResourcesService,
} from '@rms/proto/rms/resources/v1/resources_service_pb';
import { coalesce, type Handlers } from '@rms/rpc';
import { fingerprintOf } from '../idempotency/idempotency.ts';
import { readAnswers } from '../idempotency/idempotency-queries.ts';
import { type Creation, createResources } from '../resource/create-queries.ts';
import { makeEvent } from '../resource/event.ts';
import { checkMetadata, checkName, makeResource, refuse } from '../resource/resource.ts';
import { fromInputTypeMessage, tenantOf, toResourceMessage } from '../resource/resource-message.ts';
import { serveAll, toItemError, type WriteParts } from './parts.ts';

type Result = MessageInitShape<typeof CreateResourceResultSchema>;

const statementBatch = 200;
const statementsInFlight = 2;
/** A key whose record expires between the claim and the look at it is claimed anew; more often it can't happen. */
const claimTries = 3;

/** Creations of all calls under way gather, and go through one statement and one commit together. */
export function batchCreateResources(parts: WriteParts): Handlers<typeof ResourcesService>['batchCreateResources'] {
  const createTogether = coalesce((creations: Creation[]) => createBatch(parts, creations), {
    maxBatch: statementBatch,
    maxInFlight: statementsInFlight,
  });
  const createOne = async (request: CreateResourceRequest): Promise<Result> => {
    try {
      return await createTogether(toCreation(request, parts.partitions));
    } catch (error) {
      parts.failed(error);
      return { result: { case: 'error', value: toItemError(error) } };
    }
  };
  return async ({ requests }, call) => ({ results: await serveAll(call, requests, createOne) });
}

/** Checks one request; nothing that passes can make the statement of the others fail. */
function toCreation(request: CreateResourceRequest, partitions: number): Creation {
  const tenant = tenantOf(request.context);
  const { name, idempotencyKey } = request;
  const { metadataJson, violations } = checkMetadata(request.metadataJson);
  refuse([...checkName(name), ...violations, ...checkIdempotencyKey(idempotencyKey)]);
  const input = { name, inputType: fromInputTypeMessage(request.inputType), metadataJson };
  const resource = makeResource(tenant, input);
  const { requestId = '', traceparent = '' } = request.context ?? {};
  const event = makeEvent('resource.created', resource, { requestId, traceparent }, partitions);
  if (idempotencyKey === '') return { resource, event, idempotency: undefined };
  const answer = toBinary(ResourceSchema, create(ResourceSchema, toResourceMessage(resource)));
  return { resource, event, idempotency: { key: idempotencyKey, fingerprint: fingerprintOf(input), answer } };
}

function checkIdempotencyKey(key: string) {
  if (key === '' || /^[\x20-\x7e]{1,255}$/.test(key)) return [];
  return [{ field: 'Idempotency-Key', message: 'must be 1 to 255 printable ASCII characters' }];
}

async function createBatch(parts: WriteParts, creations: readonly Creation[]): Promise<Result[]> {
  const results = new Map<Creation, Result>();
  let left = creations;
  for (let attempt = 0; attempt < claimTries && left.length > 0; attempt += 1) {
    // Of several with one key the first is tried; the others find its record, or try in the next round.
    const { first, others } = splitByKey(left);
    const created = await createResources(parts.pool, first);
    if (created.size > 0) parts.committed(new Set(first.map(({ event }) => event.partition)));
    for (const creation of first) {
      if (created.has(creation.resource.id)) results.set(creation, { result: toAnswer(creation) });
    }
    left = await replay(parts, [...first.filter((creation) => !results.has(creation)), ...others], results);
  }
  return creations.map(
    (creation) => results.get(creation) ?? { result: { case: 'error', value: toItemError(new RmsError('conflict')) } },
  );
}

function toAnswer({ resource }: Creation): NonNullable<Result['result']> {
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

/** Answers those whose key is taken with what stands under it; returns those that found nothing. */
async function replay(
  { pool }: WriteParts,
  creations: readonly Creation[],
  results: Map<Creation, Result>,
): Promise<Creation[]> {
  if (creations.length === 0) return [];
  const refs = creations.flatMap(({ resource, idempotency }) =>
    idempotency ? [{ ...resource, key: idempotency.key }] : [],
  );
  const answers = new Map((await readAnswers(pool, refs)).map((answer) => [scopedKey(answer), answer]));
  const left: Creation[] = [];
  for (const creation of creations) {
    const { resource, idempotency } = creation;
    const stored = idempotency && answers.get(scopedKey({ ...resource, key: idempotency.key }));
    if (!stored) left.push(creation);
    else if (stored.fingerprint.equals(idempotency.fingerprint)) {
      const value = fromBinary(ResourceSchema, stored.answer);
      results.set(creation, { result: { case: 'resource', value }, replayed: true });
    } else {
      const value = toItemError(new RmsError('idempotency_key_reused'));
      results.set(creation, { result: { case: 'error', value } });
    }
  }
  return left;
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
