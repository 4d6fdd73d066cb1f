import { toTenant } from '@rms/base/tenant';
import { cutPage, readPageToken, tokensOf } from '@rms/postgres/db';
import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import type { Recipients } from '../recipient/recipients.ts';
import { refuse } from '../refuse.ts';
import { alertKinds, withDefaults } from '../rule/rule.ts';
import { toRuleMessage } from '../rule/rule-message.ts';
import { readRules, readUnsubscribed } from '../rule/rule-queries.ts';
import { type HandlerParts, maxPageSize } from './handler.ts';

/** Returns a page of rules, in the order of kinds. Without a page size, returns all of them. */
export function listRules(
  { pool, pageTokenKeys }: HandlerParts,
  recipients: Pick<Recipients, 'unconfirmedOf'>,
): Handlers<typeof AlertsService>['listRules'] {
  return async ({ pageSize, pageToken, ...request }) => {
    if (pageSize < 0 || pageSize > maxPageSize) refuse('per_page', `must be 1 to ${maxPageSize}`);
    const tenant = toTenant(request);
    const binding = JSON.stringify(['alert rules', tenant.workspaceId, tenant.environment]);
    const start = readPageToken(pageTokenKeys, binding, pageToken);
    const size = pageSize || alertKinds.length;
    const at = (alertKinds as readonly string[]).indexOf(start?.keys[0] ?? '');
    const [from, to] = start?.direction === 'before' ? [Math.max(0, at - size - 1), at] : [at + 1, at + size + 2];
    const unsubscribed = await readUnsubscribed(pool, tenant);
    const cut = cutPage(withDefaults(tenant, await readRules(pool, tenant)).slice(from, to), size, start);
    const addresses = cut.items.flatMap((rule) => rule.recipients);
    const unconfirmed = await recipients.unconfirmedOf(tenant.workspaceId, addresses);
    return {
      rules: cut.items.map((rule) => toRuleMessage(rule, unsubscribed, unconfirmed)),
      ...tokensOf(pageTokenKeys, binding, cut, start, ({ kind }) => [kind]),
      page: cut.page,
      totalSize: BigInt(alertKinds.length),
    };
  };
}
