import type { Keys } from '@rms/base/secrets';
import type { Tenant } from '@rms/base/tenant';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import { readUnsubscribeToken } from '../notify/unsubscribe-token.ts';
import { refuse } from '../refuse.ts';
import type { AlertKind } from '../rule/rule.ts';
import { unsubscribedEntry } from '../rule/rule-audit.ts';
import type { HandlerParts } from './handler.ts';

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

/** Unsubscribes an address from a rule. Returns false if it was already unsubscribed. */
async function addUnsubscribed(
  db: Queryable,
  { workspaceId, environment }: Tenant,
  kind: AlertKind,
  address: string,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into alerts.unsubscribed (workspace_id, environment, kind, address) values ($1, $2, $3, lower($4))
         on conflict do nothing`,
    [workspaceId, environment, kind, address],
  );
  return rowCount === 1;
}
