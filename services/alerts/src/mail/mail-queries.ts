import type { Queryable } from '@rms/db';

/** A mail as it is queued: what it says is sealed. */
export interface QueuedMail {
  readonly workspaceId: string;
  readonly environment: 'live' | 'sandbox' | '';
  readonly id: string;
  readonly recipient: string;
  readonly sealed: Buffer;
  readonly expiresAt: Date;
}

/** One that is to be sent now. */
export interface LeasedMail extends QueuedMail {
  /** This one included. */
  readonly attempts: number;
  readonly createdAt: Date;
}

/** Queues mails; one whose id is known is not queued again. */
export async function queueMails(tx: Queryable, mails: readonly QueuedMail[]): Promise<void> {
  for (const mail of mails) {
    await tx.query(
      `insert into alerts.mails (workspace_id, environment, id, recipient, content, expires_at)
       values ($1, $2, $3, $4, $5, $6) on conflict do nothing`,
      [mail.workspaceId, mail.environment, mail.id, mail.recipient, mail.sealed, mail.expiresAt],
    );
  }
}

/** Mails that are due, which nobody else gets until the lease has run out. */
export async function leaseMails(db: Queryable, limit: number, leaseMs: number): Promise<LeasedMail[]> {
  const { rows } = await db.query<{
    workspace_id: string;
    environment: QueuedMail['environment'];
    id: string;
    recipient: string;
    content: Buffer;
    expires_at: Date;
    attempts: number;
    created_at: Date;
  }>(
    `update alerts.mails as m set attempts = attempts + 1, due_at = now() + make_interval(secs => $2)
       from (select workspace_id, environment, id from alerts.mails
              where state = 'queued' and due_at <= now() order by due_at limit $1 for update skip locked) as due
      where m.workspace_id = due.workspace_id and m.environment = due.environment and m.id = due.id
     returning m.*`,
    [limit, leaseMs / 1_000],
  );
  return rows.map((row) => ({
    workspaceId: row.workspace_id,
    environment: row.environment,
    id: row.id,
    recipient: row.recipient,
    sealed: row.content,
    expiresAt: row.expires_at,
    attempts: row.attempts,
    createdAt: row.created_at,
  }));
}

type MailRef = Pick<QueuedMail, 'workspaceId' | 'environment' | 'id'>;

/** A mail was sent, or will not be; what it said is forgotten. */
export async function endMail(db: Queryable, mail: MailRef, state: 'sent' | 'failed', error: string): Promise<void> {
  await db.query(
    `update alerts.mails set state = $4, content = null, due_at = null, ended_at = now(), last_error = $5
      where workspace_id = $1 and environment = $2 and id = $3 and state = 'queued'`,
    [mail.workspaceId, mail.environment, mail.id, state, error],
  );
}

/** A mail could not be sent; it is tried again. */
export async function retryMail(db: Queryable, mail: MailRef, inMs: number, error: string): Promise<void> {
  await db.query(
    `update alerts.mails set due_at = now() + make_interval(secs => $4), last_error = $5
      where workspace_id = $1 and environment = $2 and id = $3 and state = 'queued'`,
    [mail.workspaceId, mail.environment, mail.id, inMs / 1_000, error],
  );
}

/** Forgets mails that ended a month ago. */
export async function forgetMails(db: Queryable): Promise<void> {
  await db.query(`delete from alerts.mails where state <> 'queued' and ended_at < now() - interval '30 days'`);
}
