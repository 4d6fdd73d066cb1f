import type { Queryable } from '@rms/db';
import { newId } from '@rms/ids';
import type { Notice } from '../incident/incident.ts';
import type { StoredIncident } from '../incident/incident-queries.ts';
import type { AlertKind } from '../rule/rule.ts';
import type { Tenant } from '../tenant.ts';

/** Something to tell the recipients of a rule. */
export interface Notification extends Tenant {
  readonly id: string;
  readonly kind: AlertKind;
  readonly notice: Notice;
  readonly incidentId: string;
  readonly subjectId: string;
  readonly summary: string;
  readonly openedAt: Date;
  readonly createdAt: Date;
}

/** Puts what is to be told on its way, in the transaction of what it tells of. */
export async function insertNotifications(
  tx: Queryable,
  notices: readonly { readonly incident: StoredIncident; readonly notice: Notice }[],
): Promise<void> {
  for (const { incident, notice } of notices) {
    await tx.query(
      `insert into alerts.notifications
              (workspace_id, environment, id, kind, notice, incident_id, subject_id, summary, opened_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
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
      ],
    );
  }
}

/** The oldest that are due, which nobody else gets for so long. */
export async function leaseNotifications(db: Queryable, limit: number, leaseMs: number): Promise<Notification[]> {
  const { rows } = await db.query<{
    workspace_id: string;
    environment: Tenant['environment'];
    id: string;
    kind: AlertKind;
    notice: Notice;
    incident_id: string;
    subject_id: string;
    summary: string;
    opened_at: Date;
    created_at: Date;
  }>(
    `update alerts.notifications as n set due_at = now() + make_interval(secs => $2)
       from (select workspace_id, environment, id from alerts.notifications
              where due_at <= now() order by due_at limit $1 for update skip locked) as due
      where n.workspace_id = due.workspace_id and n.environment = due.environment and n.id = due.id
     returning n.*`,
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
    summary: row.summary,
    openedAt: row.opened_at,
    createdAt: row.created_at,
  }));
}

/** It has become mails, or there is nobody to tell. */
export async function deleteNotification(tx: Queryable, { workspaceId, environment, id }: Notification): Promise<void> {
  await tx.query('delete from alerts.notifications where workspace_id = $1 and environment = $2 and id = $3', [
    workspaceId,
    environment,
    id,
  ]);
}
