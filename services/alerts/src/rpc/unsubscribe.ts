import type { Keys } from '@rms/base/secrets';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction } from '@rms/postgres/db';
import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import { readUnsubscribeToken } from '../notify/unsubscribe-token.ts';
import { unsubscribedEntry } from '../rule/rule-audit.ts';
import { addUnsubscribed } from '../rule/rule-queries.ts';
import { type HandlerParts, refuse } from './handler.ts';

export function unsubscribe({ pool }: HandlerParts, keys: Keys): Handlers<typeof AlertsService>['unsubscribe'] {
  return async ({ token }, context) => {
    const unsubscription = readUnsubscribeToken(keys, token) ?? refuse('token', 'is not a valid unsubscribe token');
    const { kind, address } = unsubscription;
    await inTransaction(pool, async (tx) => {
      if (!(await addUnsubscribed(tx, unsubscription, kind, address))) return;
      await appendAudit(tx, context, [unsubscribedEntry(unsubscription, kind, address, true)]);
    });
    return {};
  };
}
