import type { Tenant } from '@rms/base/tenant';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Pool, type Queryable } from '@rms/postgres/db';
import { queueEvents } from '@rms/postgres/operational-events';
import { insertNotice } from '../../notices/notice-queries.ts';
import { webhookChanges, webhookEntry } from '../../webhook/webhook-audit.ts';
import { webhookEvent } from '../../webhook/webhook-event.ts';
import { lockWebhook, read, toWebhook, type WebhookRow } from '../../webhook/webhook-queries.ts';
import { tryFailPending } from './end-queries.ts';

type WebhookRef = Tenant & { readonly webhookId: string; readonly requestId: string };

/** An instance's observation of an endpoint. */
export interface HealthNote {
  readonly ref: WebhookRef;
  readonly failing: boolean;
  /** Whether the failure is to be reported: a delivery has used up its retries, or the circuit is open. */
  readonly reports: boolean;
}

/** Effect of a note, by webhook. */
interface HealthRow {
  readonly id: string;
  /** Whether the webhook has been failing for longer than allowed. */
  readonly isOverdue: boolean;
  readonly event: 'webhook.failing' | 'webhook.recovered' | null;
}

/**
 * Stores or clears when webhooks' current failures started, and queues the events of failures that are to be reported,
 * and of the ends of those that were, each once. If there are several notes for a webhook, the last one wins. Returns
 * the IDs of noted webhooks that have been failing for `failingForHours`; none if it is 0.
 */
export async function setHealth(
  pool: Pool,
  notes: readonly HealthNote[],
  failingForHours: number,
): Promise<Set<string>> {
  const last = [...new Map(notes.map((note) => [note.ref.webhookId, note])).values()];
  const rows = await inTransaction(pool, async (tx) => {
    const noted = await writeHealth(tx, last, failingForHours);
    await queueChanges(tx, last, noted);
    return noted;
  });
  return new Set(rows.flatMap(({ id, isOverdue }) => (isOverdue ? id : [])));
}

async function writeHealth(
  tx: Queryable,
  notes: readonly HealthNote[],
  failingForHours: number,
): Promise<readonly HealthRow[]> {
  const { rows } = await tx.query<HealthRow>({
    name: 'webhooks-health',
    text: `
      with note as (
        select * from unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $6::boolean[])
            as note (workspace_id, environment, id, failing, reports)
      ), changed as (
        select w.workspace_id, w.environment, w.id, w.status,
               case when note.failing then coalesce(w.failing_since, now()) end as failing_since,
               w.failing_since is not null and w.failure_reported as was_reported,
               note.failing and (note.reports or (w.failing_since is not null and w.failure_reported)) as is_reported
          from webhooks.webhooks as w
          join note
            on w.workspace_id = note.workspace_id and w.environment = note.environment and w.id = note.id
         where (w.failing_since is null) = note.failing
            or (note.failing and note.reports and not w.failure_reported)
         order by w.id for update of w
      ), written as (
        update webhooks.webhooks as w set failing_since = changed.failing_since, failure_reported = changed.is_reported
          from changed
         where w.workspace_id = changed.workspace_id and w.environment = changed.environment and w.id = changed.id
      )
      select w.id, coalesce(note.failing and w.failing_since < webhooks.agreed_now() - $5::integer * interval '1 hour',
                            false) as "isOverdue",
             case when changed.status <> 'active' or changed.was_reported = changed.is_reported then null
                  when changed.is_reported then 'webhook.failing'
                  when changed.was_reported then 'webhook.recovered' end as event
        from webhooks.webhooks as w
        join note on w.workspace_id = note.workspace_id and w.environment = note.environment and w.id = note.id
        left join changed on changed.id = w.id`,
    values: [
      notes.map(({ ref }) => ref.workspaceId),
      notes.map(({ ref }) => ref.environment),
      notes.map(({ ref }) => ref.webhookId),
      notes.map(({ failing }) => failing),
      failingForHours || null,
      notes.map(({ reports }) => reports),
    ],
  });
  return rows;
}

/** Queues the events of changed webhooks. */
async function queueChanges(tx: Queryable, notes: readonly HealthNote[], noted: readonly HealthRow[]): Promise<void> {
  const events = new Map(noted.flatMap(({ id, event }) => (event ? [[id, event]] : [])));
  if (events.size === 0) return;
  const refs = notes.filter(({ ref }) => events.has(ref.webhookId)).map(({ ref }) => ref);
  const { rows } = await tx.query<WebhookRow>(
    `select ${read} from unnest($1::text[], $2::text[], $3::text[]) as ref (workspace_id, environment, id)
       join webhooks.webhooks as w using (workspace_id, environment, id)`,
    [
      refs.map(({ workspaceId }) => workspaceId),
      refs.map(({ environment }) => environment),
      refs.map(({ webhookId }) => webhookId),
    ],
  );
  const requests = new Map(refs.map(({ webhookId, requestId }) => [webhookId, requestId]));
  await queueEvents(
    tx,
    'webhooks',
    rows.map(toWebhook).flatMap((webhook) => {
      const type = events.get(webhook.id);
      return type ? [webhookEvent(type, webhook, { actor: '', requestId: requests.get(webhook.id) ?? '' })] : [];
    }),
  );
}

/**
 * Disables a webhook with an endpoint that responded with 410 Gone or has been failing for `failingForHours`,
 * unless its URL has changed since then. Ends its pending deliveries, notifies its owner and appends an audit entry
 * with the request ID of the delivery. Returns whether it was disabled.
 */
export async function disableWebhook(
  pool: Pool,
  { workspaceId, environment, webhookId, requestId }: WebhookRef,
  { url, reason, failingForHours }: { url: string; reason: 'gone' | 'failing'; failingForHours: number },
): Promise<boolean> {
  return inTransaction(pool, async (tx) => {
    const before = await lockWebhook(tx, { workspaceId, environments: [environment] }, webhookId);
    if (!before || before.status === 'disabled' || before.url !== url) return false;
    const { rows } = await tx.query<{ updated_at: Date }>(
      `update webhooks.webhooks set status = 'disabled', disable_reason = $4, paused_at = null,
              updated_at = greatest(now(), updated_at + interval '1 millisecond')
        where workspace_id = $1 and environment = $2 and id = $3
          and ($4 = 'gone' or failing_since < webhooks.agreed_now() - $5 * interval '1 hour')
      returning updated_at`,
      [workspaceId, environment, webhookId, reason, failingForHours],
    );
    const [updated] = rows;
    if (!updated) return false;
    const after = {
      ...before,
      status: 'disabled',
      disableReason: reason,
      pausedAt: undefined,
      updatedAt: updated.updated_at,
    } as const;
    await tryFailPending(tx, { workspaceId, environment, id: webhookId });
    await insertNotice(tx, { workspaceId, environment, type: 'webhook.disabled', subjectId: webhookId, reason });
    const changes = webhookChanges(before, after);
    const origin = { actor: '', actorName: '', clientAddress: '', requestId };
    await appendAudit(tx, origin, [webhookEntry(before, { action: 'webhook.disabled', changes })]);
    await queueEvents(tx, 'webhooks', [webhookEvent('webhook.disabled', after, origin)]);
    return true;
  });
}
