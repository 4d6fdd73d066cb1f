import { toTenant } from '@rms/base/tenant';
import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import type { Recipients } from '../recipient/recipients.ts';
import { withDefaults } from '../rule/rule.ts';
import { toRuleMessage } from '../rule/rule-message.ts';
import { readRules, readUnsubscribed } from '../rule/rule-queries.ts';
import type { HandlerParts } from './handler.ts';

export function listRules(
  { pool }: HandlerParts,
  recipients: Pick<Recipients, 'unconfirmedOf'>,
): Handlers<typeof AlertsService>['listRules'] {
  return async (request) => {
    const tenant = toTenant(request);
    const unsubscribed = await readUnsubscribed(pool, tenant);
    const rules = withDefaults(tenant, await readRules(pool, tenant));
    const addresses = rules.flatMap((rule) => rule.recipients);
    const unconfirmed = await recipients.unconfirmedOf(tenant.workspaceId, addresses);
    return { rules: rules.map((rule) => toRuleMessage(rule, unsubscribed, unconfirmed)) };
  };
}
