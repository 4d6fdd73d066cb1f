import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import type { Keys } from '@rms/secrets';
import { readUnsubscribeToken } from '../notify/unsubscribe-token.ts';
import { unsubscribedEntry } from '../rule/rule-audit.ts';
import { removeUnsubscribed } from '../rule/rule-queries.ts';
import { type HandlerParts, refuse } from './handler.ts';

/**
 * Undoes an unsubscription. The token proves that the caller is the recipient, because only the recipient received it.
 */
export function resubscribe({ pool }: HandlerParts, keys: Keys): Handlers<typeof AlertsService>['resubscribe'] {
  return async ({ token }, context) => {
    const unsubscription = readUnsubscribeToken(keys, token) ?? refuse('token', 'is not a valid unsubscribe token');
    const { kind, address } = unsubscription;
    await inTransaction(pool, async (tx) => {
      if (!(await removeUnsubscribed(tx, unsubscription, kind, address))) return;
      await appendAudit(tx, context, [unsubscribedEntry(unsubscription, kind, address, false)]);
    });
    return {};
  };
}
