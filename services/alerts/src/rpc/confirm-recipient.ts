import type { Keys } from '@rms/base/secrets';
import { type AuditedFields, appendAudit, changesBetween } from '@rms/postgres/audit';
import { inTransaction } from '@rms/postgres/db';
import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import { readConfirmationToken } from '../recipient/confirmation-token.ts';
import { confirmAddress } from '../recipient/recipient-queries.ts';
import { type HandlerParts, refuse } from './handler.ts';

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
