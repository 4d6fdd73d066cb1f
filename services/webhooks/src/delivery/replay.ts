import type { Tenant } from '@rms/base/tenant';
import type { LoggedStatus } from './log-filter.ts';

/** Selects the deliveries that a replay sends again. */
export interface ReplayFilter {
  readonly webhookId: string;
  readonly statuses: readonly LoggedStatus[];
  /** Range of the event time. */
  readonly since: Date;
  readonly until: Date;
  /** Empty: any. */
  readonly eventTypes: readonly string[];
}

export type ReplayStatus = 'running' | 'done' | 'canceled';

/** A replay sends deliveries again, oldest first, at a limited rate. */
export interface Replay extends Tenant, ReplayFilter {
  readonly id: string;
  readonly status: ReplayStatus;
  readonly perSecond: number;
  /** Number of deliveries at the start. 0 means none, or too many to count. */
  readonly total: number;
  readonly replayed: number;
  /** ID of the last delivery that it has sent. */
  readonly lastId: string;
  readonly createdBy: string;
  readonly createdAt: Date;
}
