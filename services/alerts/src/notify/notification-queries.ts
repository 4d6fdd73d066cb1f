import { newId } from '@rms/base/ids';
import type { Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import { dueRoundRobin } from '../due-round-robin.ts';
import type { Notice } from '../incident/incident.ts';
import type { IncidentNotice } from '../incident/incident-queries.ts';
import type { AlertKind } from '../rule/rule.ts';

/** A pending notification to a rule's recipients. */
export interface Notification extends Tenant {
  readonly id: string;
  readonly kind: AlertKind;
  readonly notice: Notice;
  readonly incidentId: string;
  readonly subjectId: string;
  readonly object: string;
  /** Rule that reports the same problem. Its recipients get no second email. */
  readonly coveredBy: AlertKind | undefined;
  readonly summary: string;
  readonly openedAt: Date;
  readonly createdAt: Date;
}

/**
 * Delay before a recovery is reported. A single success closes an incident of consecutive failures, so its recovery is
 * reported only if it lasts.
 */
const reportRecoveryAfterMs: Readonly<Partial<Record<AlertKind, number>>> = { delivery_failures_in_a_row: 5 * 60_000 };
/** Longest time until a notification is due, without `gatherMs`. Leases and waits for the limit of emails are shorter. */
const longestDelayMs = 5 * 60_000;

/**
 * Queues notifications of a tenant, in the transaction that writes their incidents. They become due with a pending
 * notification of the same rule and kind, or after `gatherMs`, so that one email reports all. If the same subject's
 * recovery is still pending, recipients still consider the subject failing. In this case the recovery is withdrawn and
 * the new incident, which must be stored, is not reported: it continues the report of the previous one. Each subject may
 * occur only once.
 */
export async function insertNotifications(
  tx: Queryable,
  notices: readonly IncidentNotice[],
  gatherMs: number,
): Promise<void> {
  const withdrawn = await withdrawRecoveries(tx, notices);
  const queued = notices.filter(({ incident, notice }) => notice !== 'opened' || !withdrawn.has(subjectOf(incident)));
  if (queued.length === 0) return;
  const column = <T>(of: (one: IncidentNotice) => T) => queued.map(of);
  await tx.query({
    name: 'insert-notifications',
    text: `
      with given as (
        select *, now() + due_in_ms * interval '1 millisecond' as earliest_at
          from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                      $9::timestamptz[], $10::text[], $11::text[], $12::integer[])
               as n (workspace_id, environment, id, kind, notice, incident_id, subject_id, summary, opened_at, object,
                     covered_by, due_in_ms)
      ), groups as (
        select kind, notice, earliest_at,
               coalesce((select min(due_at) from alerts.notifications as pending
                          where pending.workspace_id = one.workspace_id and pending.environment = one.environment
                            and pending.kind = one.kind and pending.notice = one.notice
                            and pending.due_at between one.earliest_at and one.earliest_at + $13 * interval '1 millisecond'),
                        earliest_at + $13 * interval '1 millisecond') as due_at
          from (select distinct workspace_id, environment, kind, notice, earliest_at from given) as one
      )
      insert into alerts.notifications
             (workspace_id, environment, id, kind, notice, incident_id, subject_id, summary, opened_at, object, covered_by,
              due_at)
      select workspace_id, environment, id, kind, notice, incident_id, subject_id, summary, opened_at, object, covered_by,
             due_at
        from given join groups using (kind, notice, earliest_at)`,
    values: [
      column(({ incident }) => incident.workspaceId),
      column(({ incident }) => incident.environment),
      column(() => newId('ntf')),
      column(({ incident }) => incident.kind),
      column(({ notice }) => notice),
      column(({ incident }) => incident.id),
      column(({ incident }) => incident.subjectId),
      column(({ incident }) => incident.summary),
      column(({ incident }) => new Date(incident.openedAtMs)),
      column(({ incident }) => incident.object),
      column(({ coveredBy }) => coveredBy ?? ''),
      column(({ incident, notice }) => (notice === 'recovered' ? (reportRecoveryAfterMs[incident.kind] ?? 0) : 0)),
      gatherMs,
    ],
  });
}

function subjectOf({ kind, subjectId }: Pick<IncidentNotice['incident'], 'kind' | 'subjectId'>): string {
  return `${kind} ${subjectId}`;
}

/**
 * Deletes the pending recovery notifications of subjects with a new incident, which continues the report of the previous
 * one. Returns these subjects.
 */
async function withdrawRecoveries(tx: Queryable, notices: readonly IncidentNotice[]): Promise<Set<string>> {
  const opened = notices.flatMap(({ incident, notice }) => (notice === 'opened' ? [incident] : []));
  const [first] = opened;
  if (!first) return new Set();
  const { rows } = await tx.query<{ kind: AlertKind; subject_id: string; incident_id: string }>({
    name: 'withdraw-recoveries',
    text: `
      delete from alerts.notifications
       where workspace_id = $1 and environment = $2 and notice = 'recovered'
         and (kind, subject_id) in (select * from unnest($3::text[], $4::text[]))
      returning kind, subject_id, incident_id`,
    values: [
      first.workspaceId,
      first.environment,
      opened.map(({ kind }) => kind),
      opened.map(({ subjectId }) => subjectId),
    ],
  });
  const previous = new Map(
    rows.map(({ kind, subject_id: subjectId, incident_id: id }) => [subjectOf({ kind, subjectId }), id]),
  );
  const continuing = opened.filter((incident) => previous.has(subjectOf(incident)));
  if (continuing.length > 0) {
    await tx.query({
      name: 'continue-reports',
      text: `
        update alerts.incidents as next set report_id = previous.report_id
          from unnest($3::text[], $4::text[]) as pair (next_id, previous_id)
          join alerts.incidents as previous
            on previous.workspace_id = $1 and previous.environment = $2 and previous.id = pair.previous_id
         where next.workspace_id = $1 and next.environment = $2 and next.id = pair.next_id`,
      values: [
        first.workspaceId,
        first.environment,
        continuing.map(({ id }) => id),
        continuing.map((incident) => previous.get(subjectOf(incident))),
      ],
    });
  }
  return new Set(previous.keys());
}

interface NotificationRow {
  workspace_id: string;
  environment: Tenant['environment'];
  id: string;
  kind: AlertKind;
  notice: Notice;
  incident_id: string;
  subject_id: string;
  object: string;
  covered_by: AlertKind | '';
  summary: string;
  opened_at: Date;
  created_at: Date;
}

/**
 * Leases the oldest due notifications for `leaseMs`, round-robin over workspaces.
 * @param gatherMs that of {@link insertNotifications}
 */
export async function leaseNotifications(
  db: Queryable,
  { limit, leaseMs, gatherMs }: { readonly limit: number; readonly leaseMs: number; readonly gatherMs: number },
): Promise<Notification[]> {
  const { rows } = await db.query<NotificationRow>(
    `update alerts.notifications set due_at = now() + make_interval(secs => $2)
      where ctid = any(array(${dueRoundRobin('alerts.notifications', { longestWaitMs: longestDelayMs + gatherMs })}))
     returning *`,
    [limit, leaseMs / 1_000],
  );
  return rows.map(toNotification);
}

/**
 * Returns up to `limit` notifications of the same rule and kind that are due within `withinMs`, oldest first: also those
 * that are leased.
 */
export async function readGroup(
  db: Queryable,
  { workspaceId, environment, kind, notice }: Pick<Notification, 'workspaceId' | 'environment' | 'kind' | 'notice'>,
  { withinMs, limit }: { readonly withinMs: number; readonly limit: number },
): Promise<Notification[]> {
  const { rows } = await db.query<NotificationRow>(
    `select * from alerts.notifications
      where workspace_id = $1 and environment = $2 and kind = $3 and notice = $4
        and due_at <= now() + $5 * interval '1 millisecond'
      order by id limit $6`,
    [workspaceId, environment, kind, notice, withinMs, limit],
  );
  return rows.map(toNotification);
}

/** Postpones a workspace's notifications that are leased or due, at most 1,000. */
export async function postponeNotifications(db: Queryable, workspaceId: string, seconds: number): Promise<void> {
  await db.query(
    `update alerts.notifications set due_at = now() + make_interval(secs => $2)
      where ctid = any(array(
        select ctid from alerts.notifications
         where workspace_id = $1 and due_at < now() + make_interval(secs => $2)
         limit 1000 for update skip locked))`,
    [workspaceId, seconds],
  );
}

/** Deletes processed notifications of a tenant. Returns those that were neither withdrawn nor processed before. */
export async function deleteNotifications(
  tx: Queryable,
  { workspaceId, environment }: Tenant,
  notifications: readonly Notification[],
): Promise<Notification[]> {
  const { rows } = await tx.query<{ id: string }>(
    'delete from alerts.notifications where workspace_id = $1 and environment = $2 and id = any($3) returning id',
    [workspaceId, environment, notifications.map(({ id }) => id)],
  );
  const deleted = new Set(rows.map(({ id }) => id));
  return notifications.filter(({ id }) => deleted.has(id));
}

function toNotification(row: NotificationRow): Notification {
  return {
    workspaceId: row.workspace_id,
    environment: row.environment,
    id: row.id,
    kind: row.kind,
    notice: row.notice,
    incidentId: row.incident_id,
    subjectId: row.subject_id,
    object: row.object,
    coveredBy: row.covered_by || undefined,
    summary: row.summary,
    openedAt: row.opened_at,
    createdAt: row.created_at,
  };
}
