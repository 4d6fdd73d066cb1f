import type { Circuit } from './circuit.ts';
import type { DeliveryJob } from './job.ts';

/** What is remembered of an endpoint. */
export interface Earned {
  readonly workspaceId: string;
  /** Attempts at once. */
  limit: number;
  readonly circuit: Circuit;
  /** Its last attempt was slow or failed. */
  failing: boolean;
}

/** What is here of a webhook. */
export interface EndpointQueue extends Earned {
  inFlight: number;
  readonly waiting: DeliveryJob[];
  /** A job found no room here: more of them are in the table. */
  overflowed: boolean;
}
