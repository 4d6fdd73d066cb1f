import { firstId, idTime, isId } from '@rms/base/ids';
import type { TenantScope } from '@rms/base/tenant';
import { eventsOfRequest } from '../event/events-of-request.ts';

export type LoggedStatus = 'pending' | 'retrying' | 'delivered' | 'failed' | 'skipped' | 'canceled';

/** A filter of deliveries. Undefined fields match everything. */
export interface LogFilter {
  readonly id?: string | undefined;
  readonly webhookId?: string | undefined;
  /** Matches any of these. */
  readonly statuses?: readonly LoggedStatus[] | undefined;
  readonly eventType?: string | undefined;
  readonly resourceId?: string | undefined;
  readonly requestId?: string | undefined;
  readonly eventId?: string | undefined;
  /** True: only test deliveries; false: none. */
  readonly test?: boolean | undefined;
  /** Range of the event time. */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  /** Matches only smaller IDs, which are older. */
  readonly before?: string | undefined;
}

/** The table that contains a delivery: the queue (unfinished) or the log (ended). */
export type LogSource = 'deliveries' | 'delivery_log';

const statusesIn: Readonly<Record<LogSource, readonly LoggedStatus[]>> = {
  deliveries: ['pending', 'retrying'],
  delivery_log: ['delivered', 'failed', 'skipped', 'canceled'],
};

/**
 * SQL expression for a delivery's status, per table. A canceled delivery is stored as a failed one with the reason
 * 'canceled', so that the previous release can read it.
 */
export const statusOf: Readonly<Record<LogSource, string>> = {
  deliveries: `case when tries > 0 then 'retrying' else 'pending' end`,
  delivery_log: `case when status = 'failed' and end_reason = 'canceled' then 'canceled' else status end`,
};

/** SQL condition on a delivery: whether it is a test delivery, which only the log has. */
export const isTest = `(d.origin = 'test')`;

/** Returns the tables that can contain matching deliveries. */
export function sourcesOf({ statuses, test }: LogFilter): LogSource[] {
  const sources: readonly LogSource[] = test ? ['delivery_log'] : ['deliveries', 'delivery_log'];
  return sources.filter((source) => !statuses || statusesIn[source].some((status) => statuses.includes(status)));
}

/** SQL conditions on deliveries `d`, and their parameters. $1 is the workspace, $2 the environments. */
export class Conditions {
  readonly values: unknown[];
  /** Conditions that an index evaluates in ID order. */
  readonly indexed: string[] = ['d.workspace_id = $1'];
  /** Conditions that are evaluated on the rows read. */
  readonly others: string[] = [];

  constructor({ workspaceId, environments }: TenantScope, filter: LogFilter, source: LogSource) {
    this.values = [workspaceId, environments];
    const { since, until, before } = filter;
    this.#add(this.indexed, 'd.id =', filter.id);
    this.#add(this.indexed, 'd.webhook_id =', filter.webhookId);
    this.#add(this.indexed, 'd.id >=', since && firstId('dlv', since.getTime()));
    this.#add(this.indexed, 'd.id <', until && firstId('dlv', until.getTime()));
    this.#add(this.indexed, 'd.id <', before);
    this.#addEvent(filter.eventId);
    if (source === 'delivery_log' && filter.statuses && !filter.statuses.includes('delivered')) {
      this.indexed.push(`d.status <> 'delivered'`);
    }
  }

  /** Adds the conditions that no index evaluates in ID order. */
  addOthers({ eventType, statuses, test }: LogFilter, source: LogSource): void {
    this.#add(this.others, 'event_type =', eventType);
    if (source === 'delivery_log' && test !== undefined) this.others.push(`${isTest} = ${test}`);
    const wanted = statuses && statusesIn[source].filter((status) => statuses.includes(status));
    if (!wanted || wanted.length === statusesIn[source].length) return;
    if (source === 'delivery_log') this.others.push(`${statusOf.delivery_log} = any(${this.placeholder(wanted)})`);
    else this.others.push(wanted.includes('retrying') ? 'tries > 0' : 'tries = 0');
  }

  /** Returns a selection's SQL from the events `e` with matching deliveries in `scope.environment`. */
  ofEvents({ requestId, resourceId, eventId, since, until, before }: LogFilter): string {
    const conditions = ['e.workspace_id = $1', 'e.environment = scope.environment'];
    const columns = 'workspace_id, environment, id, resource_id';
    const source =
      requestId === undefined ? 'webhooks.events' : `(${eventsOfRequest(columns, this.placeholder(requestId))})`;
    this.#add(conditions, 'e.resource_id =', resourceId);
    this.#add(conditions, 'e.id =', eventId);
    this.#add(conditions, 'e.id >=', since && firstId('evt', since.getTime()));
    this.#add(conditions, 'e.id <', until && firstId('evt', until.getTime()));
    // Includes events of the same millisecond as `before`.
    this.#add(conditions, 'e.id <', before && firstId('evt', idTime(before) + 1));
    return `from ${source} as e where ${conditions.join(' and ')}`;
  }

  /** Adds a parameter and returns its placeholder. */
  placeholder(value: unknown): string {
    return `$${this.values.push(value)}`;
  }

  /** The IDs of an event's deliveries start with the event's time, so the index finds them without the event. */
  #addEvent(eventId: string | undefined): void {
    if (eventId === undefined) return;
    // Without the range, the whole log would be read.
    if (!isId('evt', eventId)) this.indexed.push('false');
    const start = `dlv_${eventId.slice(4, 14)}`;
    this.#add(this.indexed, 'd.event_id =', eventId);
    this.#add(this.indexed, 'd.id >=', start);
    this.#add(this.indexed, 'd.id <', `${start}~`);
  }

  #add(to: string[], condition: string, value: unknown): void {
    if (value !== undefined) to.push(`${condition} ${this.placeholder(value)}`);
  }
}

/** The reason why a due delivery is not attempted. */
export type DelayReason = 'rate_limit' | 'circuit_open' | 'paused';

/** SQL join of the endpoint `e` of a delivery. Reads it only if the delivery is due. */
export const endpointIfDue = (webhookId: string, dueAt: string) => `
       left join lateral (
              select not_before, pause_ms, paused from webhooks.endpoints as own
               where own.webhook_id = ${webhookId} and ${dueAt} <= now() offset 0
            ) as e on true`;

/** SQL expression for the {@link DelayReason} of a delivery to endpoint `e`. Null: it is not delayed. */
export const delayReasonOf = (dueAt: string) =>
  `case when ${dueAt} <= now() and e.paused then 'paused'
                 when ${dueAt} <= now() and e.not_before > now()
                 then case when e.pause_ms > 0 then 'circuit_open' else 'rate_limit' end end`;

/** SQL columns of a delivery that is joined with {@link endpointIfDue}. */
export const delayColumns = (
  dueAt: string,
) => `case when e.paused is not true then greatest(${dueAt}, e.not_before) end as "nextAttemptAt",
            ${delayReasonOf(dueAt)} as "delayReason"`;
