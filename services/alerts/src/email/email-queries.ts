import type { Environment, Tenant } from '@rms/base/tenant';
import { deleteInBatches, type Queryable } from '@rms/postgres/db';
import { dueRoundRobin } from '../due-round-robin.ts';
import { maxDelayMs } from './email.ts';

/** A queue of messages. `recipient` is an email address or a channel ID. */
export type QueueTable = 'alerts.emails' | 'alerts.channel_messages';

/** An email in the queue. Its content is encrypted. */
export interface QueuedEmail {
  readonly workspaceId: string;
  readonly environment: Environment | '';
  readonly id: string;
  readonly recipient: string;
  readonly sealed: Buffer;
  readonly expiresAt: Date;
  /** Set if the email reports a new incident; see {@link readReports}. */
  readonly report?: { readonly thread: string; readonly title: string } | undefined;
}

/** An email leased for sending. */
export interface LeasedEmail extends QueuedEmail {
  /** Including the current attempt. */
  readonly attempts: number;
  readonly createdAt: Date;
}

/** Queues emails. Ignores IDs that already exist. */
export async function queueEmails(tx: Queryable, emails: readonly QueuedEmail[]): Promise<void> {
  for (const email of emails) {
    await tx.query(
      `insert into alerts.emails (workspace_id, environment, id, recipient, content, expires_at, thread, title)
       values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing`,
      [
        email.workspaceId,
        email.environment,
        email.id,
        email.recipient,
        email.sealed,
        email.expiresAt,
        email.report?.thread ?? '',
        email.report?.title ?? '',
      ],
    );
  }
}

/** Email that reported an incident to a recipient. */
export interface EmailReport {
  readonly id: string;
  readonly title: string;
}

/** Returns the last report of a thread to each recipient, by recipient. Reports are stored for 30 days. */
export async function readReports(
  db: Queryable,
  { workspaceId, environment }: Tenant,
  thread: string,
  recipients: readonly string[],
): Promise<Map<string, EmailReport>> {
  const { rows } = await db.query<EmailReport & { recipient: string }>(
    `select distinct on (recipient) recipient, id, title from alerts.emails
      where workspace_id = $1 and environment = $2 and thread = $3 and thread <> '' and recipient = any($4::text[])
      order by recipient, created_at desc`,
    [workspaceId, environment, thread, recipients],
  );
  return new Map(rows.map(({ recipient, ...report }) => [recipient, report]));
}

/** Returns the titles of emails, by ID. Emails are stored for 30 days. */
export async function readTitles(
  db: Queryable,
  { workspaceId, environment }: Tenant,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await db.query<{ id: string; title: string }>(
    'select id, title from alerts.emails where workspace_id = $1 and environment = $2 and id = any($3::text[])',
    [workspaceId, environment, ids],
  );
  return new Map(rows.map(({ id, title }) => [id, title]));
}

/** Leases due messages for `leaseMs`, so that no other instance sends them; round-robin over workspaces. */
export async function leaseEmails(
  db: Queryable,
  limit: number,
  leaseMs: number,
  table: QueueTable = 'alerts.emails',
): Promise<LeasedEmail[]> {
  const { rows } = await db.query<{
    workspace_id: string;
    environment: QueuedEmail['environment'];
    id: string;
    recipient: string;
    content: Buffer;
    expires_at: Date;
    attempts: number;
    created_at: Date;
  }>(
    `update ${table} set attempts = attempts + 1, due_at = now() + make_interval(secs => $2)
      where ctid = any(array(${dueRoundRobin(table, { condition: "state = 'queued'", longestWaitMs: maxDelayMs })}))
     returning *`,
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

type EmailRef = Pick<QueuedEmail, 'workspaceId' | 'environment' | 'id'>;

type EmailEnd =
  | { readonly state: 'sent'; readonly reply: string }
  | { readonly state: 'failed'; readonly error: string };

/** Marks a message as sent or failed, and erases its content. */
export async function endEmail(db: Queryable, table: QueueTable, email: EmailRef, end: EmailEnd): Promise<void> {
  const [reply, error] = end.state === 'sent' ? [end.reply, ''] : ['', end.error];
  await db.query(
    `update ${table} set state = $4, content = null, due_at = null, ended_at = now(), last_error = $5, reply = $6
      where workspace_id = $1 and environment = $2 and id = $3 and state = 'queued'`,
    [email.workspaceId, email.environment, email.id, end.state, error, reply],
  );
}

/** Schedules another attempt in `inMs`. */
export async function retryEmail(
  db: Queryable,
  table: QueueTable,
  email: EmailRef,
  { inMs, error }: { readonly inMs: number; readonly error: string },
): Promise<void> {
  await db.query(
    `update ${table} set due_at = now() + make_interval(secs => $4), last_error = $5
      where workspace_id = $1 and environment = $2 and id = $3 and state = 'queued'`,
    [email.workspaceId, email.environment, email.id, inMs / 1_000, error],
  );
}

/**
 * Makes up to 1,000 emails due that wait for another attempt, because the reason of their failures may be gone; each
 * email that is sent makes more due. An email that is due later than a lease lasts is not leased.
 */
export async function hastenEmails(db: Queryable, table: QueueTable, leaseMs: number): Promise<void> {
  await db.query(
    `update ${table} set due_at = now()
      where ctid = any(array(
        select ctid from ${table}
         where state = 'queued' and last_error <> '' and due_at > now() + make_interval(secs => $1)
         order by due_at limit 1000 for update skip locked))`,
    [leaseMs / 1_000],
  );
}

/** Outcome of the attempts at an email. */
export interface EmailOutcome {
  readonly recipient: string;
  readonly state: 'queued' | 'sent' | 'failed';
  /** Last reply of the SMTP server, or last error; empty: no attempt is over. */
  readonly reply: string;
}

/** Returns the outcomes of emails, by recipient. */
export async function readOutcomes(
  db: Queryable,
  { workspaceId, environment }: Pick<QueuedEmail, 'workspaceId' | 'environment'>,
  ids: readonly string[],
): Promise<EmailOutcome[]> {
  const { rows } = await db.query<EmailOutcome>(
    `select recipient, state, case when state = 'sent' then reply else last_error end as reply from alerts.emails
      where workspace_id = $1 and environment = $2 and id = any($3::text[]) order by recipient`,
    [workspaceId, environment, ids],
  );
  return rows;
}

/** Emails that failed at the last attempt and will be attempted again. */
export interface WaitingEmails {
  /** At most `limit`. */
  readonly count: number;
  /** Error of a recent attempt; empty: no email waits. */
  readonly lastError: string;
}

/** Deletes messages 30 days after they were sent or failed. */
export function forgetEmails(db: Queryable, table: QueueTable, signal: AbortSignal): Promise<number> {
  const old = { where: `state <> 'queued' and ended_at < alerts.agreed_now() - interval '30 days'` };
  return deleteInBatches(db, table, old, signal);
}
