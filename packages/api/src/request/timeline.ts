import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import { isId } from '@rms/base/ids';
import { fromEnvironmentMessage } from '@rms/base/tenant';
import type { EventType } from '@rms/base/webhook-events';
import type { AuditEntry as AuditEntryMessage } from '@rms/proto/rms/auth/v1/audit_service_pb';
import type { Request as RequestMessage } from '@rms/proto/rms/auth/v1/requests_service_pb';
import type { Environment as EnvironmentMessage } from '@rms/proto/rms/common/v1/common_pb';
import type { Delivery } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import type { EventProgress } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { actorOfUser, type CallOptions, userOfActor } from '@rms/rpc';
import { attemptSummaryOf } from '../attempt/document.ts';
import { actorText, auditEntryDocument, changesText, targetText } from '../audit-entry/document.ts';
import type { Backend } from '../backend.ts';
import { deliveryDocument } from '../delivery/document.ts';
import { presentTimeOf, rounded, timeOf } from '../times.ts';
import { requestDocument, routeOf } from './document.ts';
import type { Timeline } from './schema.ts';

const maxDeliveries = 200;
/** Redeliveries of these deliveries, newest first. */
const maxRedeliveries = 100;
/** Audit entries of the request itself. */
const maxChanges = 1_000;

/** RPC clients that {@link readTimeline} calls. */
export type TimelineClients = Pick<Backend, 'audit' | 'deliveries' | 'events' | 'members' | 'requests'>;

export interface TimelineSubject {
  readonly workspaceId: string;
  /** undefined: both, which only operators may read. */
  readonly environment?: EnvironmentMessage;
  readonly requestId: string;
}

/** Records with the same X-Request-ID. */
export interface TimelineParts {
  readonly requestId: string;
  readonly requests: readonly RequestMessage[];
  readonly events: readonly EventProgress[];
  /** With summaries of their attempts. */
  readonly deliveries: readonly Delivery[];
  readonly hasMoreDeliveries: boolean;
  /** Changes that the request made, oldest first. */
  readonly changes: readonly AuditEntryMessage[];
  /** Redeliveries of the deliveries, by this request or others. */
  readonly redeliveries: readonly AuditEntryMessage[];
  /** Email addresses of users by actor ("user:usr_…"). */
  readonly emails: ReadonlyMap<string, string>;
  /** Whether the caller may read the audit log. Otherwise only redeliveries are shown, and only as steps. */
  readonly mayReadAudit: boolean;
  /** Requests of the workspace and environment that were only counted. */
  readonly leftOut: bigint;
}

/** Reads all records of a request. */
export async function readTimeline(
  clients: TimelineClients,
  subject: TimelineSubject,
  { mayReadAudit, ...options }: CallOptions & { readonly mayReadAudit: boolean },
): Promise<TimelineParts> {
  const { workspaceId, requestId } = subject;
  const [{ requests, leftOut }, { events }, [deliveries, hasMoreDeliveries], changes] = await Promise.all([
    clients.requests.listRequests(subject, options),
    clients.events.listEventsOfRequest(subject, options),
    readDeliveries(clients, subject, options),
    mayReadAudit ? readChangesOfRequest(clients, subject, options) : [],
  ]);
  const redeliveries = await readRedeliveries(clients, { workspaceId, deliveries }, options);
  const actors = [...requests, ...events, ...redeliveries].map(({ actor }) => actor);
  const emails = await readEmails(clients, { workspaceId, actors }, options);
  const found = { requests, events, deliveries, hasMoreDeliveries, changes, redeliveries, emails };
  return { requestId, ...found, mayReadAudit, leftOut };
}

/** Returns the empty records of an unknown request. */
export function unknownTimeline(requestId: string): TimelineParts {
  const none = { requests: [], events: [], deliveries: [], hasMoreDeliveries: false, changes: [], redeliveries: [] };
  return { requestId, ...none, emails: new Map(), mayReadAudit: true, leftOut: 0n };
}

/** Returns whether a request has no records. */
export function isUnknown({ requests, events, deliveries, changes }: TimelineParts): boolean {
  return requests.length + events.length + deliveries.length + changes.length === 0;
}

/**
 * Reads the audit entries of a request, oldest first. The time comes from the request ID, so an ID that a client has
 * chosen finds none.
 */
export async function readChangesOfRequest(
  { audit }: TimelineClients,
  subject: TimelineSubject,
  options: CallOptions,
): Promise<readonly AuditEntryMessage[]> {
  if (!isId('req', subject.requestId)) return [];
  const { entries } = await audit.listAuditEntries({ ...subject, pageSize: maxChanges }, options);
  // An auth service of the previous release ignores `requestId`.
  return entries.filter(({ requestId }) => requestId === subject.requestId).reverse();
}

/** Pages are bounded in bytes, so a page may have fewer deliveries than requested. */
async function readDeliveries(
  clients: TimelineClients,
  subject: TimelineSubject,
  options: CallOptions,
): Promise<[deliveries: Delivery[], hasMore: boolean]> {
  const found: Delivery[] = [];
  let pageToken = '';
  do {
    const requested = { ...subject, pageSize: maxDeliveries - found.length, pageToken, withAttempts: true };
    const page = await clients.deliveries.listDeliveries(requested, options);
    found.push(...page.deliveries);
    pageToken = page.nextPageToken;
  } while (pageToken !== '' && found.length < maxDeliveries);
  return [found, pageToken !== ''];
}

async function readRedeliveries(
  { audit }: TimelineClients,
  { workspaceId, deliveries }: { readonly workspaceId: string; readonly deliveries: readonly Delivery[] },
  options: CallOptions,
): Promise<readonly AuditEntryMessage[]> {
  if (deliveries.length === 0) return [];
  const targetIds = deliveries.map(({ id }) => id);
  const requested = { workspaceId, targetIds, action: 'delivery.redelivered', pageSize: maxRedeliveries };
  return (await audit.listAuditEntries(requested, options)).entries;
}

async function readEmails(
  { members }: TimelineClients,
  { workspaceId, actors }: { readonly workspaceId: string; readonly actors: readonly string[] },
  options: CallOptions,
): Promise<ReadonlyMap<string, string>> {
  if (!members || actors.every((actor) => userOfActor(actor) === undefined)) return new Map();
  const { members: found } = await members.listMembers({ workspaceId }, options);
  return new Map(found.map(({ userId, email }) => [actorOfUser(userId), email]));
}

/** Returns the API representation of a timeline. */
export function timelineDocument(parts: TimelineParts): Timeline {
  const { requestId, requests, events, deliveries, hasMoreDeliveries, changes, redeliveries, mayReadAudit } = parts;
  const nameOf = (actor: string) => parts.emails.get(actor) ?? actor;
  const traceIds = new Set([...requests, ...events].map(({ traceId }) => traceId).filter((id) => id !== ''));
  const known = new Set(changes.map(({ id }) => id));
  const later = redeliveries.filter(({ id }) => !known.has(id));
  const steps = [
    ...requests.map((request) => beginOf(request, nameOf)),
    ...changes.map(changeOf),
    ...events.map((event) => committedOf(event, nameOf)),
    ...requests.map(endOf),
    ...events.flatMap(storedOf),
    ...inOrder(deliveries).flatMap(stepsOf),
    ...later.map(changeOf),
  ];
  return {
    request_id: requestId,
    type: 'request_timeline',
    trace_ids: [...traceIds],
    requests: requests.map(fullRequestDocument),
    events: events.map(eventDocument),
    deliveries: deliveries.map((delivery) => ({
      ...deliveryDocument(delivery),
      attempts: delivery.attempts.map(attemptSummaryOf),
    })),
    has_more_deliveries: hasMoreDeliveries,
    audit_entries: mayReadAudit ? [...changes, ...later.reverse()].map(auditEntryDocument) : [],
    // The sort is stable: steps of the same millisecond stay in causal order.
    steps: steps
      .sort((a, b) => a.atMs - b.atMs)
      .map(({ atMs, ...step }) => ({ at: new Date(atMs).toISOString(), ...step })),
  };
}

function fullRequestDocument(request: RequestMessage): Timeline['requests'][number] {
  const { replayed, authenticatedMs, limitedMs, handledMs, keyHint, keyName } = request;
  const reached = (ms: number | undefined) => (ms === undefined ? null : rounded(ms));
  return {
    ...requestDocument(request),
    environment: fromEnvironmentMessage(request.environment),
    api_key_hint: keyHint || null,
    api_key_name: keyName || null,
    replayed,
    authenticated_ms: reached(authenticatedMs),
    limited_ms: reached(limitedMs),
    handled_ms: reached(handledMs),
  };
}

function eventDocument(event: EventProgress): Timeline['events'][number] {
  const { busPartition, busOffset } = event;
  return {
    id: event.id,
    type: event.type as EventType,
    environment: fromEnvironmentMessage(event.environment),
    actor: event.actor || null,
    resource_id: event.resourceId,
    sequence: Number(event.position),
    created_at: presentTimeOf(event.createTime),
    stored_at: timeOf(event.storeTime),
    partition: busPartition ?? null,
    offset: busOffset === undefined ? null : String(busOffset),
    trace_id: event.traceId || null,
  };
}

/** Event IDs sort in causal order. Delivery IDs within a batch do not. */
function inOrder(deliveries: readonly Delivery[]): Delivery[] {
  return [...deliveries].sort((a, b) => (a.eventId + a.id < b.eventId + b.id ? -1 : 1));
}

interface Step extends Omit<Timeline['steps'][number], 'at'> {
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** Returns the display name of an actor. */
type NameOf = (actor: string) => string;

function beginOf(request: RequestMessage, nameOf: NameOf): Step {
  const { startTime, method, environment, keyId, keyHint, keyName, actor } = request;
  const key = keyId === '' ? 'without a valid key' : `with key ${keyHint || keyId}${keyName ? ` (${keyName})` : ''}`;
  const who = actor === '' ? key : `by ${nameOf(actor)}`;
  const where = `${routeOf(request) ?? '(no route)'} in ${fromEnvironmentMessage(environment)}`;
  return step(msOf(startTime), `${method} ${where} ${who}`);
}

function endOf(request: RequestMessage): Step {
  const { startTime, status, errorCode, replayed, durationMs } = request;
  const response = status === 0 ? 'the client disconnected' : `responded ${status}${errorCode ? ` ${errorCode}` : ''}`;
  const text = `${response}${replayed ? ', replayed' : ''} after ${rounded(durationMs)} ms${splitOf(request)}`;
  const outcome = status >= 200 && status < 400 ? 'success' : 'failure';
  return step(msOf(startTime) + durationMs, text, { outcome });
}

/** Formats the duration of each step in the gateway. */
function splitOf({ authenticatedMs: key, limitedMs: limits, handledMs: handled }: RequestMessage): string {
  const parts = [
    ...(key === undefined ? [] : [`key ${rounded(key)} ms`]),
    ...(key === undefined || limits === undefined ? [] : [`limits ${rounded(limits - key)} ms`]),
    ...(limits === undefined || handled === undefined ? [] : [`work ${rounded(handled - limits)} ms`]),
  ];
  return parts.length > 0 ? ` (${parts.join(', ')})` : '';
}

function changeOf(message: AuditEntryMessage): Step {
  const entry = auditEntryDocument(message);
  const changes = changesText(entry);
  const text = `${entry.action} ${targetText(entry)} by ${actorText(entry)}${changes === '' ? '' : `: ${changes}`}`;
  return step(msOf(message.time), text, isId('dlv', entry.target_id) ? { delivery_id: entry.target_id } : {});
}

function committedOf({ id, type, resourceId, createTime, actor }: EventProgress, nameOf: NameOf): Step {
  // Shows only users, because the request's first step already shows the key.
  const who = userOfActor(actor) === undefined ? '' : ` by ${nameOf(actor)}`;
  return step(msOf(createTime), `${type} ${id} of ${resourceId} committed${who}`, { event_id: id });
}

function storedOf({ id, storeTime, position, busPartition, busOffset }: EventProgress): Step[] {
  if (!storeTime) return [];
  const bus = busPartition === undefined ? '' : ` (partition ${busPartition}, offset ${busOffset})`;
  return [step(msOf(storeTime), `${id} stored in the feed with sequence ${position}${bus}`, { event_id: id })];
}

function stepsOf(delivery: Delivery): Step[] {
  const { id, eventId, eventType, webhookId, createTime, attempts } = delivery;
  const of = { event_id: eventId, delivery_id: id };
  const skipped = deliveryDocument(delivery).status === 'skipped' ? ': skipped because the webhook was disabled' : '';
  return [
    step(msOf(createTime), `${eventType} ${eventId} for ${webhookId} (${id})${skipped}`, of),
    ...attempts.map(({ number, startTime, statusCode, error, durationMs }) =>
      step(msOf(startTime), `attempt ${number} of ${id} to ${webhookId}: ${error || statusCode} in ${durationMs} ms`, {
        ...of,
        outcome: statusCode === 200 && error === '' ? 'success' : 'failure',
      }),
    ),
  ];
}

function step(atMs: number, text: string, of: Partial<Omit<Step, 'atMs' | 'text'>> = {}): Step {
  return { atMs, text, outcome: null, event_id: null, delivery_id: null, ...of };
}

function msOf(time: Timestamp | undefined): number {
  return time ? timestampMs(time) : 0;
}
