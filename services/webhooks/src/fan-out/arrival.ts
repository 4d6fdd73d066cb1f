import type { ConsumedRecord } from '@rms/bus';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import type { ResourceEvent } from '@rms/proto/rms/events/v1/resource_event_pb';

/** An event, and the record of the bus that it has come by. */
export interface Arrival {
  readonly event: ResourceEvent;
  readonly record: Pick<ConsumedRecord, 'partition' | 'offset' | 'headers' | 'key'>;
}

export function environmentOf({ environment }: ResourceEvent): 'live' | 'sandbox' {
  return environment === Environment.LIVE ? 'live' : 'sandbox';
}
