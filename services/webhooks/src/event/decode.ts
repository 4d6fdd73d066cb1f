import { fromBinary } from '@bufbuild/protobuf';
import { idTime, isId } from '@rms/base/ids';
import { environmentOf } from '@rms/base/tenant';
import type { ConsumedRecord } from '@rms/bus';
import { type ResourceEvent, ResourceEventSchema } from '@rms/proto/rms/events/v1/resource_event_pb';
import { logPartitions } from './partitions.ts';

/** An event to store. */
export interface Incoming {
  readonly event: ResourceEvent;
  /** The bus record that contained it; undefined for an operational event. */
  readonly record: ConsumedRecord | undefined;
}

/** An event from the bus. */
export interface Arrival extends Incoming {
  readonly record: ConsumedRecord;
}

/**
 * The reason why a record is not stored as an event: its bytes cannot be decoded, required fields are missing, it is older
 * than the retention or in the future, PostgreSQL rejects its content, or the events of its tenant cannot be stored. A
 * retry changes only the last one.
 */
export type DeadReason = (typeof deadReasons)[number];
export const deadReasons = ['unreadable', 'incomplete', 'out_of_time', 'refused', 'failed'] as const;

/** A record that is not stored as an event. */
export interface DeadLetter {
  readonly record: ConsumedRecord;
  /** The event; undefined if the record cannot be decoded. */
  readonly event?: ResourceEvent;
  readonly reason: DeadReason;
  readonly detail: string;
}

/**
 * Decodes a record to an event, or to a dead letter with the reason.
 * @param nowMs the database's time
 * @param retentionDays retention of events
 */
export function decode(record: ConsumedRecord, nowMs: number, retentionDays: number): ResourceEvent | DeadLetter {
  let event: ResourceEvent;
  try {
    event = fromBinary(ResourceEventSchema, record.value);
  } catch (error) {
    return { record, reason: 'unreadable', detail: (error as Error).message };
  }
  const problem = problemOf(event, nowMs, retentionDays);
  return problem ? { record, event, ...problem } : event;
}

/** Returns why an event cannot be stored; undefined if it can. */
export function problemOf(
  event: ResourceEvent,
  nowMs: number,
  retentionDays: number,
): Pick<DeadLetter, 'reason' | 'detail'> | undefined {
  const missing = missingOf(event);
  if (missing) return { reason: 'incomplete', detail: `the event has no ${missing}` };
  if (logPartitions.accepts(idTime(event.id), nowMs, retentionDays)) return undefined;
  return { reason: 'out_of_time', detail: 'the event is too old or in the future' };
}

export function isDead(decoded: object): decoded is DeadLetter {
  return 'reason' in decoded;
}

function missingOf({ id, workspaceId, environment, body }: ResourceEvent): string | undefined {
  if (!isId('evt', id)) return 'event id';
  if (workspaceId === '') return 'workspace';
  if (environmentOf(environment) === undefined) return 'environment';
  return body.length === 0 ? 'body' : undefined;
}
