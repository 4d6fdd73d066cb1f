import type { Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import type { AlertKind } from '../rule/rule.ts';

/** Content of a channel message: one state change of one or more incidents. Stored as JSON, without secrets. */
export interface ChannelReport {
  readonly change: 'opened' | 'repeated' | 'acknowledged' | 'recovered' | 'ended' | 'test';
  readonly kind: AlertKind;
  /** Identifies the incidents that were reported together: `dedup_key` of PagerDuty. */
  readonly reportId: string;
  /** Title of the message, "Webhook disabled: 12 webhooks". */
  readonly title: string;
  readonly workspaceName: string;
  readonly incidents: readonly {
    readonly id: string;
    readonly subjectId: string;
    readonly object: string;
    readonly summary: string;
    /** ISO 8601. */
    readonly openedAt: string;
  }[];
}

/** A message to queue. */
export interface NewChannelMessage extends Tenant {
  /** A message with an ID that exists is not queued again. */
  readonly id: string;
  readonly channelId: string;
  readonly report: ChannelReport;
}

/** Lifetime of a message, in seconds, as that of emails. */
const lifeSeconds = 3 * 24 * 3_600;
/** Incidents that a message contains. */
export const maxReported = 50;

/** Queues messages to channels. */
export async function queueChannelMessages(tx: Queryable, messages: readonly NewChannelMessage[]): Promise<void> {
  if (messages.length === 0) return;
  const column = <T>(of: (message: NewChannelMessage) => T) => messages.map(of);
  await tx.query(
    `insert into alerts.channel_messages (workspace_id, environment, id, recipient, content, thread, expires_at)
     select m.*, now() + $7 * interval '1 second'
       from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::text[]) as m
         on conflict do nothing`,
    [
      column(({ workspaceId }) => workspaceId),
      column(({ environment }) => environment),
      column(({ id }) => id),
      column(({ channelId }) => channelId),
      column(({ report }) => Buffer.from(JSON.stringify(report))),
      column(({ report }) => report.reportId),
      lifeSeconds,
    ],
  );
}

/** Returns whether an earlier message to the same channel about the same report waits. */
export async function hasEarlierMessage(
  db: Queryable,
  {
    workspaceId,
    environment,
    id,
    recipient,
  }: { workspaceId: string; environment: string; id: string; recipient: string },
  reportId: string,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from alerts.channel_messages
      where workspace_id = $1 and environment = $2 and recipient = $3 and thread = $4 and state = 'queued' and id < $5
      limit 1`,
    [workspaceId, environment, recipient, reportId, id],
  );
  return rowCount === 1;
}
