import type { LoggedStatus } from '../log/log-filter.ts';
import type { Tenant } from '../subscription/webhook.ts';

/** Which deliveries of the log a replay takes. */
export interface ReplayFilter {
  readonly webhookId: string;
  readonly statuses: readonly LoggedStatus[];
  /** By the time of the event. */
  readonly since: Date;
  readonly until: Date;
  readonly eventType: string | undefined;
}

export type ReplayStatus = 'running' | 'done' | 'cancelled';

/** Deliveries that are sent again, oldest first, at a rate. */
export interface Replay extends Tenant, ReplayFilter {
  readonly id: string;
  readonly status: ReplayStatus;
  readonly perSecond: number;
  readonly total: number;
  readonly replayed: number;
  /** The last delivery that it has taken. */
  readonly lastId: string;
  readonly createdBy: string;
  readonly createdAt: Date;
}
