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

/** What could be taken now. */
export interface Places {
  /** How many jobs webhooks can take, of which anything is known; for who asks to keep. */
  readonly ofWebhooks: Map<string, number>;
  /** Workspaces none of whose webhooks can take anything. */
  readonly fullWorkspaces: readonly string[];
}

/** What fresh deliveries can be leased for. */
export interface Openings {
  /** Jobs of all webhooks. */
  readonly room: number;
  /** Jobs of webhooks of which anything is known. */
  readonly ofWebhooks: ReadonlyMap<string, number>;
  /** Jobs of each other webhook. */
  readonly ofOthers: number;
}

/** How an attempt ended, as far as the endpoint's state and the next look at what is due are concerned. */
export interface Outcome {
  readonly durationMs: number;
  /** 'refused': it answers, and does not want this delivery. */
  readonly health: 'arrived' | 'refused' | 'failing' | 'not attempted';
  /** When the delivery is due again; undefined: it is not, or this instance does not know. */
  readonly dueInMs?: number | undefined;
}

/** What follows from the end of an attempt. */
export interface Next {
  readonly start: DeliveryJob[];
  readonly giveBack: DeliveryJob[];
  readonly roomAgain: boolean;
  readonly health: Outcome['health'];
  /** The circuit of the job's webhook is not closed. */
  readonly isOpen: boolean;
}
