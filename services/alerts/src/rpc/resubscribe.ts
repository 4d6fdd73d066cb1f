import type { Keys } from '@rms/base/secrets';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction } from '@rms/postgres/db';
import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import { readResubscribeToken } from '../notify/unsubscribe-token.ts';
import { refuse } from '../refuse.ts';
import { unsubscribedEntry } from '../rule/rule-audit.ts';
import { removeUnsubscribed } from '../rule/rule-queries.ts';
import type { HandlerParts } from './handler.ts';

/**
 * Undoes an unsubscription. The token is in the link's fragment, which browsers never send, so logs of servers and
 * proxies do not contain it.
 */
export function resubscribe({ pool, time }: HandlerParts, keys: Keys): Handlers<typeof AlertsService>['resubscribe'] {
  return async ({ token }, context) => {
    const unsubscription =
      readResubscribeToken(keys, token, time.nowMs()) ??
      refuse('token', 'has expired or is invalid; members can sign in and subscribe again in the alert rule');
    const { kind, address } = unsubscription;
    await inTransaction(pool, async (tx) => {
      if (!(await removeUnsubscribed(tx, unsubscription, kind, address))) return;
      await appendAudit(tx, context, [unsubscribedEntry(unsubscription, kind, address, false)]);
    });
    return {};
  };
}
