import type { Queryable } from '@rms/postgres/db';

/**
 * Invariants of the webhooks service's tables after every transaction:
 *
 * - `deliveries`: every event of the feed has one delivery per webhook that subscribed to it before it was stored,
 *   whose filter it matches and which it is not about, in the queue or in the log, unless its fan-out to the webhook is deferred; and every delivery has its event.
 * - `endings`: no delivery ends without an attempt or a reason.
 * - `positions`: a feed's positions are 1…n.
 * - `sequences`: the sequences of each resource's events are 1…n.
 */
export type Invariant = 'deliveries' | 'endings' | 'positions' | 'sequences';

/** A violation of an invariant. */
export interface Finding {
  readonly invariant: Invariant;
  /** The tenant, the event or delivery, and the webhook. */
  readonly text: string;
}

/** A feed in a restored database skips a multiple of this number of positions. */
const epochPositions = 1_000_000;

/** Bounds the findings per kind, so that a message stays readable. */
const findingsPerKind = 5;

/** SQL for a row's tenant, as findings name it. */
const tenantOf = (row: string) => `${row}.workspace_id || ' ' || ${row}.environment`;

/** SQL for the delivery ID of an event to a webhook (docs/adr/0006). */
const deliveryId = (event: string, webhook: string) =>
  `'dlv_' || substr(${event}, 5, 10) || substr(md5(${event} || '/' || ${webhook}), 1, 16)`;

/** The deliveries of events, without test deliveries: their events are not in the feed. */
const stored = `
  stored as (
    select workspace_id, environment, id, event_id, webhook_id, 'queue' as place from webhooks.deliveries
     union all
    select workspace_id, environment, id, event_id, webhook_id, 'log' from webhooks.delivery_log where origin <> 'test'
  )`;

/**
 * SQL condition: a change of webhook `w` began before event `e` was stored, and was committed afterwards. Its times are
 * from its begin; only the audit log entry, which nothing changes later, shows its commit.
 */
const changedLater = `exists (
           select from audit.entries as a
            where a.workspace_id = w.workspace_id and a.target_id = w.id and a.created_at <= e.stored_at
              and pg_xact_commit_timestamp(a.xmin) > e.stored_at)`;

/** SQL per kind of violation, each a select of its findings' text. Rows of deleted workspaces are not read. */
const kinds: readonly { readonly invariant: Invariant; readonly ctes?: string; readonly select: string }[] = [
  {
    invariant: 'positions',
    ctes: `places as (
      select *, lag(position, 1, 0) over (partition by workspace_id, environment order by position, id) as previous
        from webhooks.events
    )`,
    select: `
      select ${tenantOf('e')} || ': event ' || id || ' has position ' || position || ' after position ' || previous
        from places as e
       where (position <= previous or (position - previous - 1) % ${epochPositions} <> 0) and not ${isDeleted('e')}`,
  },
  {
    invariant: 'positions',
    ctes: `ends as (
      select workspace_id, environment, max(position) as position from webhooks.events group by 1, 2
    )`,
    select: `
      select ${tenantOf('e')} || ': the last event has position ' || coalesce(e.position, 0) || ', the feed counts '
               || coalesce(last_position::text, 'nothing')
        from ends full join webhooks.feeds as f using (workspace_id, environment)
       cross join lateral (select workspace_id, environment, ends.position) as e
       where (last_position is null or last_position < coalesce(e.position, 0)
              or (last_position - coalesce(e.position, 0)) % ${epochPositions} <> 0) and not ${isDeleted('e')}`,
  },
  {
    invariant: 'sequences',
    ctes: `versions as (
      select *, lag(sequence, 1, 0) over (partition by workspace_id, environment, resource_id order by sequence, id)
                  as previous
        from webhooks.events where type like 'resource.%'
    )`,
    select: `
      select ${tenantOf('e')} || ': event ' || id || ' has sequence ' || sequence || ' of resource ' || resource_id
               || ' after sequence ' || previous
        from versions as e where sequence <> previous + 1 and not ${isDeleted('e')}`,
  },
  {
    invariant: 'endings',
    select: `
      select ${tenantOf('d')} || ': delivery ' || id || ' of event ' || event_id || ' to webhook ' || webhook_id
               || ' is ' || status || ' without an attempt' || case when status = 'failed' then ' or a reason' else '' end
        from webhooks.delivery_log as d
       where not coalesce(attempt_count > 0, attempts <> '[]')
         and (status = 'delivered' or (status = 'failed' and end_reason is null)) and not ${isDeleted('d')}`,
  },
  {
    // Webhooks that were changed since the event was stored may have subscribed to other types then. Queued deliveries
    // that expire are deleted with their day, which is at least eight days old.
    invariant: 'deliveries',
    ctes: `${stored}, expected as (
      select e.workspace_id, e.environment, e.id as event_id, e.type, e.position, w.id as webhook_id,
             ${deliveryId('e.id', 'w.id')} as id
        from webhooks.events as e
        join webhooks.webhooks as w
          on w.workspace_id = e.workspace_id and w.environment = e.environment
         and (w.events @> array[e.type] or (e.type like 'resource.%' and w.events @> array['*']))
         and w.id <> e.resource_id
       where w.created_at <= e.stored_at and w.updated_at <= e.stored_at
         and (w.filter_query is null or webhooks.filter_terms(e.body) @@ w.filter_query[1])
         and not ${changedLater}
         and e.id >= webhooks.first_id('evt', pg_catalog.now() - interval '8 days')
    )`,
    select: `
      select ${tenantOf('e')} || ': event ' || event_id || ' (' || type || ', position ' || position
               || ') has no delivery to webhook ' || webhook_id || ' in the queue or the log, and is not deferred'
        from expected as e
       where not exists (select from stored as d
                          where d.workspace_id = e.workspace_id and d.environment = e.environment and d.id = e.id)
         and not exists (select from webhooks.deferred_events as d
                          where d.workspace_id = e.workspace_id and d.environment = e.environment
                            and d.position = e.position and d.event_id = e.event_id and d.after_webhook < e.webhook_id)
         and not ${isDeleted('e')}`,
  },
  {
    invariant: 'deliveries',
    ctes: stored,
    select: `
      select ${tenantOf('d')} || ': delivery ' || id || ' of event ' || event_id || ' to webhook ' || webhook_id
               || ' is in ' || string_agg('the ' || place, ' and ' order by place desc)
        from stored as d where not ${isDeleted('d')}
       group by workspace_id, environment, id, event_id, webhook_id having count(*) > 1`,
  },
  {
    invariant: 'deliveries',
    ctes: `${stored}, dependents as (
      select workspace_id, environment, event_id, 'delivery ' || id || ' to webhook ' || webhook_id || ' in the ' || place
               as name
        from stored
       union all
      select workspace_id, environment, event_id, 'the deferred event at position ' || position
        from webhooks.deferred_events
    )`,
    select: `
      select ${tenantOf('d')} || ': event ' || event_id || ' of ' || name || ' is not stored'
        from dependents as d
       where not exists (select from webhooks.events as e
                          where e.workspace_id = d.workspace_id and e.environment = d.environment and e.id = d.event_id)
         and not ${isDeleted('d')}`,
  },
];

/** SQL for whether a row's workspace is deleted, so that its rows are deleted in any order. */
function isDeleted(row: string): string {
  return `exists (select from webhooks.deleted_workspaces as gone where gone.workspace_id = ${row}.workspace_id)`;
}

/**
 * Returns the invariants' violations, at most 5 of each kind. Reads all tables of the webhooks service, in one
 * statement per kind.
 */
export async function checkDeliveryTables(db: Queryable): Promise<Finding[]> {
  const findings: Finding[] = [];
  const { rows: schemas } = await db.query("select to_regclass('audit.entries') is not null as audit");
  for (const { invariant, ctes, select } of kinds) {
    const { rows } = await db.query<{ text: string }>(
      `${ctes ? `with ${schemas[0].audit ? ctes : ctes.replace(changedLater, 'false')}` : ''}
       select text from (${select}) as found (text) order by text limit ${findingsPerKind}`,
    );
    findings.push(...rows.map(({ text }) => ({ invariant, text })));
  }
  return findings;
}
