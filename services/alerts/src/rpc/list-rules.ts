import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import { withDefaults } from '../rule/rule.ts';
import { toRuleMessage } from '../rule/rule-message.ts';
import { readRules, readUnsubscribed } from '../rule/rule-queries.ts';
import { toTenant } from '../tenant.ts';
import { type HandlerParts, translated } from './handler.ts';

export function listRules({ pool }: HandlerParts): Handlers<typeof AlertsService>['listRules'] {
  return (request) =>
    translated(async () => {
      const tenant = toTenant(request);
      const unsubscribed = await readUnsubscribed(pool, tenant);
      const rules = withDefaults(tenant, await readRules(pool, tenant));
      return { rules: rules.map((rule) => toRuleMessage(rule, unsubscribed)) };
    });
}
