import { fromBinary } from '@bufbuild/protobuf';
import type { ConsumedRecord } from '@rms/bus';
import { idTime, isId } from '@rms/ids';
import { type ResourceEvent, ResourceEventSchema } from '@rms/proto/rms/events/v1/resource_event_pb';
import { environmentOf } from '@rms/tenant';
import { logPartitions } from '../log/partitions.ts';

/**
 * The reason why a record can never become an event: its bytes cannot be decoded, required fields are missing, it is older
 * than the retention or in the future, or PostgreSQL rejects its content.
 */
export type DeadReason = 'unreadable' | 'incomplete' | 'out_of_time' | 'refused';

/** A record that cannot be processed. */
export interface DeadLetter {
  readonly record: ConsumedRecord;
  readonly reason: DeadReason;
  readonly detail: string;
}

/**
 * Decodes a record to an event, or to a dead letter with the reason.
 * @param nowMs the time of the database
 * @param retentionDays retention of events
 */
export function decode(record: ConsumedRecord, nowMs: number, retentionDays: number): ResourceEvent | DeadLetter {
  let event: ResourceEvent;
  try {
    event = fromBinary(ResourceEventSchema, record.value);
  } catch (error) {
    return { record, reason: 'unreadable', detail: (error as Error).message };
  }
  const missing = missingOf(event);
  if (missing) return { record, reason: 'incomplete', detail: `the event has no ${missing}` };
  if (!logPartitions.accepts(idTime(event.id), nowMs, retentionDays)) {
    return { record, reason: 'out_of_time', detail: 'the event is too old or in the future' };
  }
  return event;
}

export function isDead(decoded: ResourceEvent | DeadLetter): decoded is DeadLetter {
  return 'reason' in decoded;
}

function missingOf({ id, workspaceId, environment, body }: ResourceEvent): string | undefined {
  if (!isId('evt', id)) return 'event id';
  if (workspaceId === '') return 'workspace';
  if (environmentOf(environment) === undefined) return 'environment';
  return body.length === 0 ? 'body' : undefined;
}
