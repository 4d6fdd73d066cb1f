import type { ConsumedRecord } from '@rms/bus';
import type { ResourceEvent } from '@rms/proto/rms/events/v1/resource_event_pb';

/** An event, and the bus record that contained it. */
export interface Arrival {
  readonly event: ResourceEvent;
  readonly record: ConsumedRecord;
}
