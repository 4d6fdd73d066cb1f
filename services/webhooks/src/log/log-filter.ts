import { firstId, idTime } from '@rms/ids';
import type { WebhookScope } from '../subscription/webhook-queries.ts';

export type LoggedStatus = 'pending' | 'retrying' | 'delivered' | 'failed' | 'skipped';

/** Which deliveries; what is undefined does not count. */
export interface LogFilter {
  readonly id?: string | undefined;
  readonly webhookId?: string | undefined;
  readonly status?: LoggedStatus | undefined;
  readonly eventType?: string | undefined;
  readonly resourceId?: string | undefined;
  readonly requestId?: string | undefined;
  readonly eventId?: string | undefined;
  /** By the time of the event. */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  /** Only those with a smaller id: older ones. */
  readonly before?: string | undefined;
}

/** Where a part of the log stands: what has not ended, or what has. */
export type LogSource = 'deliveries' | 'delivery_log';

/** The sources that can hold what is asked for. */
export function sourcesOf({ status }: LogFilter): LogSource[] {
  if (status === undefined) return ['deliveries', 'delivery_log'];
  return status === 'pending' || status === 'retrying' ? ['deliveries'] : ['delivery_log'];
}

/** Conditions on deliveries `d` as SQL, and their values; $1 is the workspace, $2 the environments. */
export class Conditions {
  readonly values: unknown[];
  /** What an index answers in the order of the ids. */
  readonly indexed: string[] = ['d.workspace_id = $1'];
  /** What is left to look at in what was read. */
  readonly others: string[] = [];

  constructor({ workspaceId, environments }: WebhookScope, filter: LogFilter, source: LogSource) {
    this.values = [workspaceId, environments];
    const { since, until, before } = filter;
    this.#add(this.indexed, 'd.id =', filter.id);
    this.#add(this.indexed, 'd.webhook_id =', filter.webhookId);
    this.#add(this.indexed, 'd.id >=', since && firstId('dlv', since.getTime()));
    this.#add(this.indexed, 'd.id <', until && firstId('dlv', until.getTime()));
    this.#add(this.indexed, 'd.id <', before);
    if (source === 'delivery_log' && (filter.status === 'failed' || filter.status === 'skipped')) {
      this.indexed.push(`d.status <> 'delivered'`);
    }
  }

  /** What no index answers in the order of the ids. */
  addOthers({ eventType, status }: LogFilter, source: LogSource): void {
    this.#add(this.others, 'event_type =', eventType);
    if (source === 'delivery_log') this.#add(this.others, 'status =', status);
    else if (status) this.others.push(status === 'retrying' ? 'tries > 0' : 'tries = 0');
  }

  /** Which events `e` have deliveries that pass, as an index of the events has them in the order of their ids. */
  ofEvents({ requestId, resourceId, eventId, since, until, before }: LogFilter): string[] {
    const conditions = ['e.workspace_id = $1'];
    this.#add(conditions, 'e.request_id =', requestId);
    this.#add(conditions, 'e.resource_id =', resourceId);
    this.#add(conditions, 'e.id =', eventId);
    this.#add(conditions, 'e.id >=', since && firstId('evt', since.getTime()));
    this.#add(conditions, 'e.id <', until && firstId('evt', until.getTime()));
    // Of its own millisecond there may be more.
    this.#add(conditions, 'e.id <', before && firstId('evt', idTime(before) + 1));
    return conditions;
  }

  /** The place of one more value. */
  place(value: unknown): string {
    return `$${this.values.push(value)}`;
  }

  #add(to: string[], condition: string, value: unknown): void {
    if (value !== undefined) to.push(`${condition} ${this.place(value)}`);
  }
}
