import { toTenant } from '@rms/base/tenant';
import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import type { Recipients } from '../recipient/recipients.ts';
import { refuse } from '../refuse.ts';
import { alertKinds, withDefaults } from '../rule/rule.ts';
import { toRuleMessage } from '../rule/rule-message.ts';
import { readRules, readUnsubscribed } from '../rule/rule-queries.ts';
import { type HandlerParts, maxPageSize } from './handler.ts';

/** Returns a page of the rules, in the order of the kinds. The page token is the kind with which the page begins. */
export function listRules(
  { pool }: Pick<HandlerParts, 'pool'>,
  recipients: Pick<Recipients, 'unconfirmedOf'>,
): Handlers<typeof AlertsService>['listRules'] {
  return async ({ pageSize, pageToken, ...request }) => {
    if (pageSize < 0 || pageSize > maxPageSize) refuse('per_page', `must be 1 to ${maxPageSize}`);
    const start = pageToken === '' ? 0 : (alertKinds as readonly string[]).indexOf(pageToken);
    if (start < 0) refuse('cursor', 'is not a cursor of this list');
    const size = pageSize || alertKinds.length;
    const tenant = toTenant(request);
    const unsubscribed = await readUnsubscribed(pool, tenant);
    const rules = withDefaults(tenant, await readRules(pool, tenant)).slice(start, start + size);
    const addresses = rules.flatMap((rule) => rule.recipients);
    const unconfirmed = await recipients.unconfirmedOf(tenant.workspaceId, addresses);
    return {
      rules: rules.map((rule) => toRuleMessage(rule, unsubscribed, unconfirmed)),
      nextPageToken: alertKinds[start + size] ?? '',
      previousPageToken: start === 0 ? '' : (alertKinds[Math.max(0, start - size)] ?? ''),
      page: Math.ceil(start / size) + 1,
      totalSize: BigInt(alertKinds.length),
    };
  };
}
