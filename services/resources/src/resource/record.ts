import { crc32 } from 'node:zlib';
import { create, toBinary } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { type Ids, idTime } from '@rms/base/ids';
import { toEnvironmentMessage } from '@rms/base/tenant';
import type { EventType } from '@rms/base/webhook-events';
import {
  type AuditedFields,
  type AuditOrigin,
  appendAudit,
  changesBetween,
  type NewAuditEntry,
} from '@rms/postgres/audit';
import type { Queryable } from '@rms/postgres/db';
import type { CallContext } from '@rms/proto/rms/common/v1/common_pb';
import { ResourceEventSchema } from '@rms/proto/rms/events/v1/resource_event_pb';
import { actorOf } from '@rms/rpc';
import { canonicalMetadata, type PreviousAttributes, type Resource } from './resource.ts';

// What a change leaves: its event in the outbox, its part of the totals and, for a change by a user or an operator, its
// audit entry.

/** The request that caused a change. */
export interface Cause {
  readonly requestId: string;
  readonly traceparent: string;
  readonly tracestate: string;
  /** "key:key_…", "user:usr_…" or "operator:alice@laptop". */
  readonly actor: string;
  /** Email address of a user. Empty: unknown. */
  readonly actorName: string;
  readonly clientAddress: string;
}

/** Returns the cause of changes that a call makes. */
export function causeOf(context: CallContext | undefined): Cause {
  const { requestId = '', traceparent = '', tracestate = '' } = context ?? {};
  const { clientAddress = '', actor = '', actorName = '', principal } = context ?? {};
  return {
    requestId,
    traceparent,
    tracestate,
    clientAddress,
    actorName,
    actor: actorOf({ actor, ...(principal ? { principal } : {}) }),
  };
}

/** An event to publish, as written in the transaction that causes it. */
export interface OutboxEvent {
  readonly workspaceId: string;
  readonly environment: string;
  /** See {@link partitionOf}. */
  readonly partition: number;
  readonly eventId: string;
  readonly eventType: string;
  /** Key of the bus record: the resource ID. */
  readonly recordKey: string;
  readonly requestId: string;
  /** Empty if the request is not traced. */
  readonly traceparent: string;
  /** W3C tracestate; empty: none. */
  readonly tracestate: string;
  /** Value of the bus record. */
  readonly payload: Uint8Array;
}

/** Inputs that all events of an instance share. */
export interface EventParts {
  /** The number of partitions of the event topic. */
  readonly partitions: number;
  /** Generates IDs with the database time, so that webhooks never treats an event as too old or in the future. */
  readonly newId: Ids;
}

/**
 * Makes an event of a resource for the outbox. The body (the event envelope, docs/webhook-receivers.md) is rendered
 * only here; exactly these bytes are signed, delivered and logged.
 */
export function makeEvent(
  type: EventType,
  resource: Resource,
  cause: Cause,
  { partitions, newId }: EventParts,
  previous?: PreviousAttributes,
): OutboxEvent {
  const eventId = newId('evt');
  const createdAt = new Date(idTime(eventId));
  const previousJson = previous ? `,"previous_attributes":${renderPrevious(previous)}` : '';
  const body =
    `{"id":"${eventId}","type":"${type}","created_at":"${createdAt.toISOString()}",` +
    `"data":{"object":${renderResource(resource)}${previousJson}}}`;
  const payload = toBinary(
    ResourceEventSchema,
    create(ResourceEventSchema, {
      id: eventId,
      type,
      workspaceId: resource.workspaceId,
      environment: toEnvironmentMessage(resource.environment),
      resourceId: resource.id,
      sequence: BigInt(resource.sequence),
      createTime: timestampFromDate(createdAt),
      requestId: cause.requestId,
      traceparent: cause.traceparent,
      tracestate: cause.tracestate,
      body: Buffer.from(body, 'utf8'),
      actor: cause.actor,
    }),
  );
  return {
    workspaceId: resource.workspaceId,
    environment: resource.environment,
    partition: partitionOf(resource.id, partitions),
    eventId,
    eventType: type,
    recordKey: resource.id,
    requestId: cause.requestId,
    traceparent: cause.traceparent,
    tracestate: cause.tracestate,
    payload,
  };
}

/** Renders the resource as GET returns it, with its version, which GET returns in the ETag. */
function renderResource(resource: Resource): string {
  return (
    `{"id":"${resource.id}","type":"resource","status":"${resource.status}","name":${JSON.stringify(resource.name)},` +
    `"input_type":"${resource.inputType}","metadata":${resource.metadataJson},"created_at":"${resource.createdAt.toISOString()}",` +
    `"updated_at":"${resource.updatedAt.toISOString()}","version":${resource.sequence}}`
  );
}

function renderPrevious({ name, status, metadataJson }: PreviousAttributes): string {
  const parts: string[] = [];
  if (status !== undefined) parts.push(`"status":"${status}"`);
  if (name !== undefined) parts.push(`"name":${JSON.stringify(name)}`);
  if (metadataJson !== undefined) parts.push(`"metadata":${metadataJson}`);
  return `{${parts.join(',')}}`;
}

/**
 * Returns a record key's partition: CRC-32 of the key modulo the number of partitions. All events of a resource
 * are in the same partition, which keeps their order. If the number of partitions is reduced, the relay moves the rows
 * in the outbox; if it is increased, the order of resources with rows in the outbox is lost.
 */
export function partitionOf(recordKey: string, partitions: number): number {
  return crc32(recordKey) % partitions;
}

/** Columns that a writer fills when it appends in its own statement, in the order of {@link eventParameters}. */
export const eventColumns =
  'workspace_id, environment, partition, event_id, event_type, record_key, request_id, traceparent, tracestate, payload';

/** Returns `unnest(…)` over the parameters of {@link eventParameters}, numbered from $`first`. */
export function unnestEvents(first: number): string {
  const types = ['text', 'text', 'integer', 'text', 'text', 'text', 'text', 'text', 'text', 'bytea'];
  return `unnest(${types.map((type, i) => `$${first + i}::${type}[]`).join(', ')})`;
}

/** Returns one array per column of {@link eventColumns}. */
export function eventParameters(events: readonly OutboxEvent[]): unknown[] {
  return [
    events.map(({ workspaceId }) => workspaceId),
    events.map(({ environment }) => environment),
    events.map(({ partition }) => partition),
    events.map(({ eventId }) => eventId),
    events.map(({ eventType }) => eventType),
    events.map(({ recordKey }) => recordKey),
    events.map(({ requestId }) => requestId),
    events.map(({ traceparent }) => traceparent),
    events.map(({ tracestate }) => tracestate || null),
    events.map(({ payload }) => payload),
  ];
}

const appendSql = `
  insert into outbox.events (${eventColumns})
  select ${eventColumns}
    from ${unnestEvents(1)} with ordinality as event (${eventColumns}, position)
   order by position`;

/** Appends events, in order, in the caller's transaction. Wake the relay after the commit. */
export async function appendEvents(tx: Queryable, events: readonly OutboxEvent[]): Promise<void> {
  if (events.length === 0) return;
  await tx.query({ name: 'outbox-append', text: appendSql, values: eventParameters(events) });
}

/** An audit entry with its origin, because a batch's changes belong to different callers. */
export interface AuditedChange {
  readonly origin: AuditOrigin;
  readonly entry: NewAuditEntry;
}

type Action = 'resource.created' | 'resource.updated' | 'resource.deleted';

/** A resource with its metadata as an object, so that each pair is a separate field. */
type Audited = Omit<Resource, 'metadataJson'> & { readonly metadata: Readonly<Record<string, string>> };

const fields: AuditedFields<Audited> = {
  workspaceId: 'omitted',
  environment: 'omitted',
  id: 'omitted',
  status: 'shown',
  name: 'shown',
  metadata: (pairs) => pairs,
  inputType: 'shown',
  createdAt: 'omitted',
  updatedAt: 'omitted',
  sequence: 'omitted',
};

/** With ERASE_ON_DELETE, the audit log must not keep personal data of a resource, because entries cannot be erased. */
const fieldsWithoutContent: AuditedFields<Audited> = {
  ...fields,
  name: { secret: 'name' },
  metadata: { secret: 'metadata' },
};

/**
 * Returns the audit entry of a change by a user or an operator. Changes by API keys have no entry, because the event
 * feed and the request log contain them. Without `before` or `after`, the resource was created or deleted.
 * @param eraseOnDelete leaves out the name and the metadata
 */
export function auditOf(
  cause: Cause,
  { before, after }: { readonly before?: Resource; readonly after?: Resource },
  { eraseOnDelete }: { readonly eraseOnDelete: boolean },
): AuditedChange[] {
  const resource = after ?? before;
  if (!resource || cause.actor.startsWith('key:')) return [];
  const { workspaceId, environment, id } = resource;
  const action: Action = !before ? 'resource.created' : !after ? 'resource.deleted' : 'resource.updated';
  const rules = eraseOnDelete ? fieldsWithoutContent : fields;
  const changes = changesBetween(rules, before && audited(before), after && audited(after));
  const target = { id, name: eraseOnDelete ? '' : resource.name };
  return [{ origin: cause, entry: { workspaceId, environment, target, action, changes } }];
}

/** Appends the entries in the changes' transaction. Each call has taken its pace before (`takeAuditPace`). */
export async function appendAudits(tx: Queryable, audits: readonly AuditedChange[]): Promise<void> {
  for (const { origin, entry } of audits) await appendAudit(tx, origin, [entry], { isPaced: true });
}

function audited({ metadataJson, ...resource }: Resource): Audited {
  const pairs = JSON.parse(canonicalMetadata(metadataJson)) as [name: string, value: string][];
  return { ...resource, metadata: Object.fromEntries(pairs) };
}

/** Rows of each total. */
const shards = 16;

/** Returns a random shard. Each transaction adds its counts to one shard, so that writers rarely block each other. */
export function randomShard(): number {
  return Math.floor(Math.random() * shards);
}
