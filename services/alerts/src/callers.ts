import { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { OperationalEventsService } from '@rms/proto/rms/events/v1/operational_events_service_pb';
import { type Callers, forKeys, forUsers } from '@rms/rpc';

const { listRules, getRule, updateRule, testRule } = AlertsService.method;
const { listIncidents, getIncident, acknowledgeIncident, muteIncident } = AlertsService.method;
const { listChannels, getChannel, createChannel, updateChannel, deleteChannel, testChannel } = AlertsService.method;
const { describeUnsubscribe, unsubscribe, resubscribe, describeRecipient, confirmRecipient, getEmailStatus } =
  AlertsService.method;
const { getUsage, getRequestMetrics, getDeliveryMetrics, reportUsage } = UsageService.method;
const counted = [getUsage, getRequestMetrics, getDeliveryMetrics];

const managed = [
  ...[listRules, getRule, updateRule, testRule],
  ...[listIncidents, getIncident, acknowledgeIncident, muteIncident],
  ...[listChannels, getChannel, createChannel, updateChannel, deleteChannel, testChannel],
];

/**
 * Methods that each caller may use. Gateways and webhooks report usage; webhooks also fetches operational events. For an
 * API key, gateways read usage, and manage rules and incidents; for users, the dashboard does. Links in emails work without
 * a user. `rms` may call all methods.
 */
export const callers: Callers = {
  gateway: [reportUsage, ...forKeys(...counted, getEmailStatus, ...managed)],
  webhooks: [reportUsage, ...OperationalEventsService.methods],
  dashboard: [
    ...forUsers(...managed, ...counted, getEmailStatus),
    describeUnsubscribe,
    unsubscribe,
    resubscribe,
    describeRecipient,
    confirmRecipient,
  ],
  rms: 'all',
};
