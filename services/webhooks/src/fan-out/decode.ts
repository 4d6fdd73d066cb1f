import { fromBinary } from '@bufbuild/protobuf';
import type { ConsumedRecord } from '@rms/bus';
import { idTime, isId } from '@rms/ids';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { type ResourceEvent, ResourceEventSchema } from '@rms/proto/rms/events/v1/resource_event_pb';
import { logPartitions } from '../log/partitions.ts';

/**
 * Why a record cannot become an event, now or later: its bytes are no event, they lack what every event has, its time has
 * no partition, or PostgreSQL refuses what it holds.
 */
export type DeadReason = 'unreadable' | 'incomplete' | 'out_of_time' | 'refused';

/** A record that cannot be used. */
export interface DeadLetter {
  readonly record: ConsumedRecord;
  readonly reason: DeadReason;
  readonly detail: string;
}

/** The event of a record, or why there is none. */
export function decode(record: ConsumedRecord): ResourceEvent | DeadLetter {
  let event: ResourceEvent;
  try {
    event = fromBinary(ResourceEventSchema, record.value);
  } catch (error) {
    return { record, reason: 'unreadable', detail: (error as Error).message };
  }
  const missing = missingOf(event);
  if (missing) return { record, reason: 'incomplete', detail: `it has no ${missing}` };
  if (!logPartitions.has(idTime(event.id), Date.now())) {
    return { record, reason: 'out_of_time', detail: 'it is too old, or of the future' };
  }
  return event;
}

export function isDead(decoded: ResourceEvent | DeadLetter): decoded is DeadLetter {
  return 'reason' in decoded;
}

function missingOf({ id, workspaceId, environment, body }: ResourceEvent): string | undefined {
  if (!isId('evt', id)) return 'event id';
  if (workspaceId === '') return 'workspace';
  if (environment !== Environment.LIVE && environment !== Environment.SANDBOX) return 'environment';
  return body.length === 0 ? 'body' : undefined;
}
