import type { Tenant, TenantScope } from '@rms/base/tenant';
import { deleteInBatches, type Queryable } from '@rms/postgres/db';
import type { AlertKind } from '../rule/rule.ts';
import type { Incident, Notice } from './incident.ts';

/** An incident as stored. */
export interface StoredIncident extends Tenant, Incident {
  readonly id: string;
  readonly kind: AlertKind;
  readonly subjectId: string;
  /** URL of the webhook or name of the key; see rms.alerts.v1.Incident. */
  readonly object: string;
  /** "key:…", "user:…" or "operator:…"; empty: not acknowledged. */
  readonly acknowledgedBy: string;
  /** Message that reported the incident, alone or with others; empty: none yet. */
  readonly reportId: string;
}

/** A notice to recipients about a change of an incident. */
export interface IncidentNotice {
  readonly incident: StoredIncident;
  readonly notice: Notice;
  /** Rule that reports the same problem. Its recipients get no second email. */
  readonly coveredBy: AlertKind | undefined;
}

/**
 * Closed incidents that are stored per tenant, and read by an evaluation. A tenant can create, break and delete any
 * number of webhooks in a day.
 */
const closedKept = 5_000;
/** With the default limits of webhooks and keys, an evaluation opens fewer. */
const deletedPerCall = 5_000;

/**
 * Returns the current incident of each subject of a tenant: the open incident, or else the last incident that closed
 * within a day, if it is among the last 5,000 of the tenant.
 */
export async function readCurrent(db: Queryable, { workspaceId, environment }: Tenant): Promise<StoredIncident[]> {
  const { rows } = await db.query<IncidentRow>(
    `select distinct on (kind, subject_id) * from (
              select * from alerts.incidents where workspace_id = $1 and environment = $2 and state = 'open'
              union all
              (select * from alerts.incidents
                where workspace_id = $1 and environment = $2 and state <> 'open' and closed_at > now() - interval '1 day'
                order by closed_at desc limit ${closedKept})
            ) as incidents
      order by kind, subject_id, state = 'open' desc, closed_at desc`,
    [workspaceId, environment],
  );
  return rows.map(toIncident);
}

/**
 * Inserts or updates incidents of a tenant, which has some for each of its webhooks and keys, in one statement: other
 * tenants wait for the evaluation. Each incident may occur only once. Acknowledgements, mutes and reports stay, because
 * they are written by others.
 */
export async function writeIncidents(tx: Queryable, incidents: readonly StoredIncident[]): Promise<void> {
  if (incidents.length === 0) return;
  const column = <T>(of: (incident: StoredIncident) => T) => incidents.map(of);
  const timeOf = (ms: number | undefined) => (ms === undefined ? null : new Date(ms));
  await tx.query({
    name: 'write-incidents',
    text: `
      insert into alerts.incidents
             (workspace_id, environment, id, kind, subject_id, state, opened_at, last_notice_at, notices, calm_since,
              closed_at, value, worst_value, threshold, summary, flaps, object)
      select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[],
                           $8::timestamptz[], $9::integer[], $10::timestamptz[], $11::timestamptz[], $12::float8[],
                           $13::float8[], $14::float8[], $15::text[], $16::integer[], $17::text[])
          on conflict (workspace_id, environment, id) do update
         set state = excluded.state, last_notice_at = excluded.last_notice_at, notices = excluded.notices,
             calm_since = excluded.calm_since, closed_at = excluded.closed_at, worst_value = excluded.worst_value,
             summary = excluded.summary, object = excluded.object`,
    values: [
      column((one) => one.workspaceId),
      column((one) => one.environment),
      column((one) => one.id),
      column((one) => one.kind),
      column((one) => one.subjectId),
      column((one) => one.state),
      column((one) => timeOf(one.openedAtMs)),
      column((one) => timeOf(one.lastNoticeAtMs)),
      column((one) => one.notices),
      column((one) => timeOf(one.calmSinceMs)),
      column((one) => timeOf(one.closedAtMs)),
      column((one) => one.value),
      column((one) => one.worstValue),
      column((one) => one.threshold),
      column((one) => one.summary),
      column((one) => one.flaps),
      column((one) => one.object),
    ],
  });
}

/**
 * Deletes the oldest closed incidents of a tenant beyond the newest 5,000. Open ones stay; webhooks and keys limit
 * their number.
 */
export async function deleteSurplus(tx: Queryable, { workspaceId, environment }: Tenant): Promise<void> {
  await tx.query(
    `delete from alerts.incidents where ctid = any(array(
       select ctid from alerts.incidents
        where workspace_id = $1 and environment = $2 and state <> 'open'
        order by closed_at desc offset ${closedKept} limit ${deletedPerCall}))`,
    [workspaceId, environment],
  );
}

/** Deletes incidents 400 days after they closed. */
export function forgetIncidents(db: Queryable, signal: AbortSignal): Promise<number> {
  const old = { where: `state <> 'open' and closed_at < alerts.agreed_now() - interval '400 days'` };
  return deleteInBatches(db, 'alerts.incidents', old, signal);
}

/** Returns an incident; undefined if it does not exist. `lock` locks it until the transaction ends. */
export async function findIncident(
  db: Queryable,
  { workspaceId, environments }: TenantScope,
  id: string,
  lock?: 'lock',
): Promise<StoredIncident | undefined> {
  const { rows } = await db.query<IncidentRow>(
    `select * from alerts.incidents
      where workspace_id = $1 and environment = any($2) and id = $3 ${lock ? 'for no key update' : ''}`,
    [workspaceId, environments, id],
  );
  return rows[0] && toIncident(rows[0]);
}

/**
 * Stores that a message has reported incidents of a rule, and later ones of the same subjects that are open although no
 * message has reported them; see `insertNotifications`.
 */
export async function writeReport(
  tx: Queryable,
  { workspaceId, environment, kind }: Tenant & { readonly kind: AlertKind },
  incidents: readonly { readonly incidentId: string; readonly subjectId: string }[],
  reportId: string,
): Promise<void> {
  const ids = incidents.map(({ incidentId }) => incidentId);
  const subjectIds = incidents.map(({ subjectId }) => subjectId);
  await tx.query(
    `update alerts.incidents set report_id = $4
      where workspace_id = $1 and environment = $2
        and (id = any($3::text[])
             or (kind = $5 and subject_id = any($6::text[]) and state = 'open' and report_id = ''))`,
    [workspaceId, environment, ids, reportId, kind, subjectIds],
  );
}

/** Returns the incidents with these IDs that exist, by ID. */
export async function readIncidents(
  db: Queryable,
  { workspaceId, environment }: Tenant,
  ids: readonly string[],
): Promise<Map<string, StoredIncident>> {
  const { rows } = await db.query<IncidentRow>(
    'select * from alerts.incidents where workspace_id = $1 and environment = $2 and id = any($3::text[])',
    [workspaceId, environment, ids],
  );
  return new Map(rows.map((row) => [row.id, toIncident(row)]));
}

/** Returns the number of open incidents of reports that have any, by report. */
export async function countOpen(
  db: Queryable,
  { workspaceId, environment }: Tenant,
  reportIds: readonly string[],
): Promise<Map<string, number>> {
  const { rows } = await db.query<{ report_id: string; count: number }>(
    `select report_id, count(*)::int as count from alerts.incidents
      where workspace_id = $1 and environment = $2 and report_id = any($3::text[]) and report_id <> ''
        and state = 'open'
      group by report_id`,
    [workspaceId, environment, reportIds],
  );
  return new Map(rows.map((row) => [row.report_id, row.count]));
}

export interface IncidentRow {
  workspace_id: string;
  environment: Tenant['environment'];
  id: string;
  kind: AlertKind;
  subject_id: string;
  state: Incident['state'];
  opened_at: Date;
  last_notice_at: Date;
  notices: number;
  calm_since: Date | null;
  closed_at: Date | null;
  value: number;
  worst_value: number;
  threshold: number;
  summary: string;
  flaps: number;
  object: string;
  acknowledged_at: Date | null;
  acknowledged_by: string;
  muted_until: Date | null;
  report_id: string;
}

export function toIncident(row: IncidentRow): StoredIncident {
  return {
    workspaceId: row.workspace_id,
    environment: row.environment,
    id: row.id,
    kind: row.kind,
    subjectId: row.subject_id,
    state: row.state,
    openedAtMs: row.opened_at.getTime(),
    lastNoticeAtMs: row.last_notice_at.getTime(),
    notices: row.notices,
    calmSinceMs: row.calm_since?.getTime(),
    closedAtMs: row.closed_at?.getTime(),
    value: row.value,
    worstValue: row.worst_value,
    threshold: row.threshold,
    summary: row.summary,
    flaps: row.flaps,
    object: row.object,
    acknowledgedAtMs: row.acknowledged_at?.getTime(),
    acknowledgedBy: row.acknowledged_by,
    mutedUntilMs: row.muted_until?.getTime(),
    reportId: row.report_id,
  };
}
