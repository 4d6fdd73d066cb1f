import { toTenant } from '@rms/base/tenant';
import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import type { Recipients } from '../recipient/recipients.ts';
import { ruleOf, withDefaults } from '../rule/rule.ts';
import { fromKindMessage, toRuleMessage } from '../rule/rule-message.ts';
import { readRules, readUnsubscribed } from '../rule/rule-queries.ts';
import type { HandlerParts } from './handler.ts';

export function getRule(
  { pool }: Pick<HandlerParts, 'pool'>,
  recipients: Pick<Recipients, 'unconfirmedOf'>,
): Handlers<typeof AlertsService>['getRule'] {
  return async (request) => {
    const tenant = toTenant(request);
    const rule = ruleOf(withDefaults(tenant, await readRules(pool, tenant)), fromKindMessage(request.kind));
    const unconfirmed = await recipients.unconfirmedOf(tenant.workspaceId, rule.recipients);
    return { rule: toRuleMessage(rule, await readUnsubscribed(pool, tenant), unconfirmed) };
  };
}
