import type { Queryable } from '@rms/db';
import { newId } from '@rms/ids';
import type { Tenant } from '@rms/tenant';
import { dueInTurns } from '../due-in-turns.ts';
import type { Notice } from '../incident/incident.ts';
import type { IncidentNotice } from '../incident/incident-queries.ts';
import type { AlertKind } from '../rule/rule.ts';

/** A pending notification to the recipients of a rule. */
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

/**
 * Queues notifications, in the transaction that writes their incidents. If the recovery of the same subject is still
 * pending, recipients still consider the subject failing. In this case the recovery is withdrawn and the new incident
 * is not reported.
 */
export async function insertNotifications(tx: Queryable, notices: readonly IncidentNotice[]): Promise<void> {
  for (const { incident, notice, coveredBy } of notices) {
    if (notice === 'opened' && (await withdrawRecovery(tx, incident))) continue;
    await tx.query(
      `insert into alerts.notifications
              (workspace_id, environment, id, kind, notice, incident_id, subject_id, summary, opened_at, object, covered_by,
               due_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, now() + $12 * interval '1 millisecond')`,
      [
        incident.workspaceId,
        incident.environment,
        newId('ntf'),
        incident.kind,
        notice,
        incident.id,
        incident.subjectId,
        incident.summary,
        new Date(incident.openedAtMs),
        incident.object,
        coveredBy ?? '',
        notice === 'recovered' ? (reportRecoveryAfterMs[incident.kind] ?? 0) : 0,
      ],
    );
  }
}

/** Deletes the pending recovery notification of a subject. Returns whether there was one. */
async function withdrawRecovery(
  tx: Queryable,
  { workspaceId, environment, kind, subjectId }: IncidentNotice['incident'],
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `delete from alerts.notifications
      where workspace_id = $1 and environment = $2 and kind = $3 and subject_id = $4 and notice = 'recovered'`,
    [workspaceId, environment, kind, subjectId],
  );
  return (rowCount ?? 0) > 0;
}

/** Leases the oldest due notifications for `leaseMs`. Workspaces take turns. */
export async function leaseNotifications(db: Queryable, limit: number, leaseMs: number): Promise<Notification[]> {
  const { rows } = await db.query<{
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
  }>(
    `update alerts.notifications set due_at = now() + make_interval(secs => $2)
      where ctid = any(array(${dueInTurns('alerts.notifications')}))
     returning *`,
    [limit, leaseMs / 1_000],
  );
  return rows.map((row) => ({
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
  }));
}

/** Postpones the notifications of a workspace that are leased or due, at most 1,000. */
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

/** Deletes a processed notification. Returns false if it has been withdrawn. */
export async function deleteNotification(
  tx: Queryable,
  { workspaceId, environment, id }: Notification,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    'delete from alerts.notifications where workspace_id = $1 and environment = $2 and id = $3',
    [workspaceId, environment, id],
  );
  return rowCount === 1;
}
