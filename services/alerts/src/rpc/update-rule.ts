import { durationMs } from '@bufbuild/protobuf/wkt';
import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import { RmsError } from '@rms/errors';
import type { AlertsService, UpdateRuleRequest } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import { watchSoon } from '../evaluate/watch-queries.ts';
import { checkRule, type Rule, withDefaults } from '../rule/rule.ts';
import { kindNames, toRuleMessage } from '../rule/rule-message.ts';
import { keepUnsubscribed, readRules, readUnsubscribed, writeRule } from '../rule/rule-queries.ts';
import { toTenant } from '../tenant.ts';
import { type HandlerParts, refuse, translated } from './handler.ts';

/** Changes what is sent; the rule is looked at again at once. */
export function updateRule({ pool }: HandlerParts): Handlers<typeof AlertsService>['updateRule'] {
  return (request, context) =>
    translated(async () => {
      const tenant = toTenant(request);
      const kind = kindNames.toName(request.kind) ?? refuse('kind', 'must be one of the kinds');
      return inTransaction(pool, async (tx) => {
        // Looks and changes of the rules of a tenant come one after the other.
        await watchSoon(tx, [tenant], 0);
        const stored = withDefaults(tenant, await readRules(tx, tenant, 'lock'));
        const rule = change(stored.find((one) => one.kind === kind) as Rule, request);
        const details = checkRule(rule);
        if (details.length > 0) throw new RmsError('invalid_request', { details });
        const updatedAt = new Date();
        await writeRule(tx, rule, updatedAt);
        if (request.unsubscribed) await keepUnsubscribed(tx, tenant, kind, request.unsubscribed.addresses);
        await appendAudit(tx, context, [
          { ...tenant, action: 'alert_rule.updated', targetId: kind, details: detailsOf(rule) },
        ]);
        return { rule: toRuleMessage({ ...rule, updatedAt }, await readUnsubscribed(tx, tenant)) };
      });
    });
}

function change(rule: Rule, request: UpdateRuleRequest): Rule {
  return {
    ...rule,
    enabled: request.enabled ?? rule.enabled,
    threshold: request.threshold ?? rule.threshold,
    windowSeconds: request.window ? durationMs(request.window) / 1_000 : rule.windowSeconds,
    minimum: request.minimum === undefined ? rule.minimum : Number(request.minimum),
    recipients: request.recipients ? unique(request.recipients.addresses) : rule.recipients,
    toOwners: request.toOwners ?? rule.toOwners,
  };
}

function unique(addresses: readonly string[]): string[] {
  return [...new Map(addresses.map((address) => [address.trim().toLowerCase(), address.trim()])).values()];
}

function detailsOf({ enabled, threshold, windowSeconds, minimum, recipients, toOwners }: Rule) {
  return {
    enabled,
    threshold,
    window_seconds: windowSeconds,
    minimum,
    recipients: [...recipients],
    to_owners: toOwners,
  };
}
