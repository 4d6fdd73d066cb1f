import type { Keys } from '@rms/base/secrets';
import { type AuditedFields, appendAudit, changesBetween } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import { readConfirmationToken } from '../recipient/confirmation-token.ts';
import { refuse } from '../refuse.ts';
import type { HandlerParts } from './handler.ts';

const fields: AuditedFields<{ readonly confirmed: boolean }> = { confirmed: 'shown' };

export function confirmRecipient(
  { pool, time }: HandlerParts,
  keys: Keys,
): Handlers<typeof AlertsService>['confirmRecipient'] {
  return async ({ token }, context) => {
    const { workspaceId, address } =
      readConfirmationToken(keys, token, time.nowMs()) ?? refuse('token', 'is not a valid confirmation token');
    await inTransaction(pool, async (tx) => {
      if (!(await confirmAddress(tx, workspaceId, address))) return;
      const target = { id: address, name: address };
      const changes = changesBetween(fields, { confirmed: false }, { confirmed: true });
      await appendAudit(tx, context, [{ workspaceId, action: 'alert_recipient.confirmed', target, changes }]);
    });
    return {};
  };
}

/** Confirms an address. Returns false if it has confirmed before. */
async function confirmAddress(tx: Queryable, workspaceId: string, address: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into alerts.outside_recipients as known (workspace_id, address, asked_at, confirmed_at)
     values ($1, lower($2), now(), now())
         on conflict (workspace_id, address) do update set confirmed_at = now() where known.confirmed_at is null`,
    [workspaceId, address],
  );
  return rowCount === 1;
}
