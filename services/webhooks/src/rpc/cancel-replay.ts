import { type TenantScope, toScope } from '@rms/base/tenant';
import { type AuditedFields, appendAudit, changesBetween } from '@rms/postgres/audit';
import type { Queryable } from '@rms/postgres/db';
import { CancelReplayResponseSchema, type DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { type Replay, toReplayMessage } from '../delivery/replay.ts';
import { findReplay, type ReplayRow, toReplay } from '../delivery/replay-queries.ts';
import { nameOf } from '../webhook/webhook-message.ts';
import { findWebhook } from '../webhook/webhook-queries.ts';
import { found, type HandlerParts, idempotentRequest } from './parts.ts';

const fields: AuditedFields<Pick<Replay, 'status'>> = { status: 'shown' };

/** Cancels a replay. The audit entry identifies its webhook. */
export function cancelReplay({ idempotency }: HandlerParts): Handlers<typeof DeliveriesService>['cancelReplay'] {
  return async (request, context) => {
    const { id } = request;
    const scope = toScope(request);
    const once = idempotentRequest('cancel replay', request);
    const { response, replayed } = await idempotency.once(once, CancelReplayResponseSchema, async (tx) => {
      const before = found(await lockReplay(tx, scope, id), 'replay', id);
      const replay = found(await endReplay(tx, scope, id), 'replay', id);
      const { workspaceId, environment, webhookId, replayed } = replay;
      const webhook = await findWebhook(tx, scope, webhookId);
      await appendAudit(tx, context, [
        {
          ...{ workspaceId, environment, action: 'replay.canceled', changes: changesBetween(fields, before, replay) },
          target: { id, name: webhook ? nameOf(webhook) : '' },
          details: { webhook_id: webhookId, replayed },
        },
      ]);
      return { replay: toReplayMessage(replay) };
    });
    return { ...response, replayed };
  };
}

/** Cancels a running replay. A finished replay stays unchanged. Returns undefined if it does not exist. */
async function endReplay(tx: Queryable, scope: TenantScope, id: string): Promise<Replay | undefined> {
  await tx.query(
    `update webhooks.replays set status = 'cancelled'
      where workspace_id = $1 and environment = any($2) and id = $3 and status = 'running'`,
    [scope.workspaceId, scope.environments, id],
  );
  return findReplay(tx, scope, id);
}

/** Returns one replay, locked until the transaction ends. */
async function lockReplay(tx: Queryable, scope: TenantScope, id: string): Promise<Replay | undefined> {
  const { rows } = await tx.query<ReplayRow>(
    'select * from webhooks.replays where workspace_id = $1 and environment = any($2) and id = $3 for update',
    [scope.workspaceId, scope.environments, id],
  );
  return rows[0] && toReplay(rows[0]);
}
