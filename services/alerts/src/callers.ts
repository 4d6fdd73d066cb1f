import { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { type Callers, forKeys, forUsers } from '@rms/rpc';

const { listRules, updateRule, testRule, listIncidents } = AlertsService.method;
const { describeUnsubscribe, unsubscribe, resubscribe, describeRecipient, confirmRecipient, getEmailStatus } =
  AlertsService.method;
const { getUsage, reportUsage } = UsageService.method;

/**
 * Methods that each caller may use. Gateways and webhooks report usage; gateways also read it for an API key. The
 * dashboard manages rules and reads usage for users. Links in emails work without a user. `rms` may call all methods.
 */
export const callers: Callers = {
  gateway: [reportUsage, ...forKeys(getUsage)],
  webhooks: [reportUsage],
  dashboard: [
    ...forUsers(listRules, updateRule, testRule, listIncidents, getUsage, getEmailStatus),
    describeUnsubscribe,
    unsubscribe,
    resubscribe,
    describeRecipient,
    confirmRecipient,
  ],
  rms: 'all',
};
