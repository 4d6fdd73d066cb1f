import type { ConsumedRecord } from '@rms/bus';
import type { ResourceEvent } from '@rms/proto/rms/events/v1/resource_event_pb';

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
