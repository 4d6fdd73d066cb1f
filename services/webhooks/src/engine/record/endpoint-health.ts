import { coalesce, FairCache } from '@rms/async';
import type { Tenant } from '@rms/base/tenant';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Pool, type Queryable, type Queue } from '@rms/postgres/db';
import { queueEvents } from '@rms/postgres/operational-events';
import type { Logger } from '@rms/runtime/logging';
import { insertNotice } from '../../notices/notice-queries.ts';
import { webhookChanges, webhookEntry, webhookEvent } from '../../webhook/webhook-message.ts';
import { lockWebhook, read, toWebhook, type WebhookRow } from '../../webhook/webhook-queries.ts';
import type { DeliveryJob, Settlement } from '../attempt/job.ts';
import { limits } from '../schedule/limits.ts';
import { tryFailPending } from './end-queries.ts';
import type { Endings } from './endings.ts';

export interface EndpointHealthParts {
  readonly pool: Pool;
  readonly endings: Endings;
  /** The queues of notices and of operational events. */
  readonly queues: Readonly<Record<'notices' | 'operational', Queue>>;
  readonly log: Logger;
  /** Applies to failing endpoints, not to the status 410 Gone. 0 means never. */
  readonly disableAfterHours: number;
  /** Clock in milliseconds. Defaults to performance.now(). */
  readonly now?: () => number;
}

/**
 * Tracks since when endpoints have been failing, and disables webhooks with an endpoint that responds with 410 Gone or
 * has failed for too long. Every response except 200 counts as a failure here, even if it closes the circuit. The time
 * is checked when
 *
 * - a delivery has used up its retries, or
 * - an attempt fails and the circuit is open, because an open circuit postpones retries for as long as it is open.
 *
 * It is not checked after other failures, so that a webhook with few events is not judged by a single one. At the same
 * moments, a failure is reported as `webhook.failing`; the first success after it, as `webhook.recovered`.
 */
export function createEndpointHealth(parts: EndpointHealthParts) {
  const { pool, endings, queues, log, disableAfterHours, now } = parts;
  /**
   * Whether a webhook is failing, as recently written by this instance. 'reported' means that its failure has been
   * reported, 'overdue' that it has been failing for `disableAfterHours`. Only changes are written.
   */
  const known = new FairCache<'no' | 'yes' | 'reported' | 'overdue'>({
    max: limits.endpointsKept,
    // Then it is written again: another instance, or an owner who enables the webhook, may have changed it.
    ttlMs: 60_000,
    ...(now ? { nowMs: now } : {}),
  });

  /**
   * Many endpoints may start to fail at the same time, so notes are batched. A workspace's batches run one after
   * another, so that the last note of a webhook wins. A locked webhook delays only the notes of its batch: attempts are
   * held for their notes. Returns whether the webhook has been failing for `disableAfterHours`.
   */
  const write = coalesce(
    async (notes: HealthNote[]) => {
      const overdue = await setHealth(pool, notes, disableAfterHours);
      return notes.map(({ ref }) => overdue.has(ref.webhookId));
    },
    // The engine limits the attempts whose notes wait.
    {
      tenantOf: ({ ref }) => ref.workspaceId,
      maxInFlight: 2,
      isExclusive: true,
      maxWaiting: Number.POSITIVE_INFINITY,
    },
  );

  const disable = async (job: DeliveryJob, reason: 'gone' | 'failing') => {
    const fields = { webhook_id: job.webhookId, delivery_id: job.id, request_id: job.requestId };
    const cause = { url: job.endpoint.url, reason, failingForHours: disableAfterHours };
    if (await endings.run(job.workspaceId, () => disableWebhook(pool, job, cause))) {
      queues.notices.wake();
      queues.operational.wake();
      log.warn({ ...fields, reason }, 'webhook disabled');
    }
  };

  const noteAttempt = async (job: DeliveryJob, { status, endReason }: Settlement, isOpen: boolean) => {
    const failing = status !== 'delivered';
    const before = known.get(job.webhookId);
    const reports = failing && (status === 'failed' || isOpen);
    if (before === undefined || (before !== 'no') !== failing || (reports && before === 'yes')) {
      const overdue = await write({ ref: job, failing, reports });
      known.set(job.workspaceId, job.webhookId, failing ? (overdue ? 'overdue' : reports ? 'reported' : 'yes') : 'no');
      queues.operational.wake();
    }
    const isOverdue = isOpen && known.get(job.webhookId) === 'overdue';
    if (endReason === 'retries_exhausted') queues.operational.wake();
    if (endReason === 'endpoint_gone') await disable(job, 'gone');
    else if ((status === 'failed' && disableAfterHours > 0) || isOverdue) await disable(job, 'failing');
  };

  return {
    /**
     * Updates the health after an attempt was recorded. Never rejects: a failed update is repeated after the next
     * attempt.
     * @param isOpen whether the circuit was open during the attempt
     */
    note: (job: DeliveryJob, settlement: Settlement, isOpen: boolean): Promise<void> =>
      noteAttempt(job, settlement, isOpen).catch((err: unknown) =>
        log.warn(
          { err, webhook_id: job.webhookId, request_id: job.requestId },
          'could not update the health of a webhook',
        ),
      ),
  };
}

export type EndpointHealth = ReturnType<typeof createEndpointHealth>;

type WebhookRef = Tenant & { readonly webhookId: string; readonly requestId: string };

/** An instance's observation of an endpoint. */
interface HealthNote {
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
async function setHealth(pool: Pool, notes: readonly HealthNote[], failingForHours: number): Promise<Set<string>> {
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
