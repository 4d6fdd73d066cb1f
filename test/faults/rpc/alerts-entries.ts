import { AlertKind, ChannelType } from '@rms/proto/rms/alerts/v1/alert_pb';
import { DeliveryGrouping, MetricsGranularity } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { timestampFromMs } from '@rms/rpc';
import { type Entries, inBoth, inOne, inWorkspace, ofInstallation } from './entry.ts';
import { idempotencyKey } from './owned.ts';

const kind = AlertKind.QUOTA;
const range = {
  from: timestampFromMs(Date.now() - 60_000),
  to: timestampFromMs(Date.now()),
  granularity: MetricsGranularity.DAY,
};
const tokenWhy = 'the token in the link identifies its target and cannot be forged';
const token = 'made-up';

export const alertsEntries: Entries<'alerts' | 'alertsSecrets' | 'usage'> = {
  alerts: {
    listRules: inOne(() => [[{}, {}]]),
    getRule: inOne(() => [[{ kind }, {}]]),
    updateRule: inOne(({ channelId: id }) => [
      [{ kind, threshold: 0.5 }, {}],
      [{ kind, channels: { ids: [id] } }, 'invalid_request'],
    ]),
    // Its email goes to the owners, who are the same for both environments.
    testRule: inWorkspace((_, as) => [[{ ...as, kind }, { addresses: [] }]]),
    listIncidents: inBoth(() => [[{ pageSize: 100 }, { incidents: [] }]]),
    getIncident: inBoth(({ incidentId: id }) => [[{ id }, 'not_found']]),
    acknowledgeIncident: inOne(({ incidentId: id }) => [[{ id, idempotencyKey }, 'not_found']]),
    muteIncident: inOne(({ incidentId: id }) => [[{ id }, 'not_found']]),
    listChannels: inOne(() => [[{ pageSize: 100 }, { channels: [] }]]),
    getChannel: inOne(({ channelId: id }) => [[{ id }, 'not_found']]),
    createChannel: inOne(() => [
      [{ type: ChannelType.PAGERDUTY, name: 'Mine', routingKey: 'key-of-the-stranger' }, {}],
    ]),
    updateChannel: inOne(({ channelId: id }) => [[{ id, name: 'Mine' }, 'not_found']]),
    deleteChannel: inOne(({ channelId: id }) => [[{ id }, 'not_found']]),
    testChannel: inOne(({ channelId: id }) => [[{ id }, 'not_found']]),
    describeUnsubscribe: ofInstallation(tokenWhy, () => [[{ token }, 'invalid_request']]),
    unsubscribe: ofInstallation(tokenWhy, () => [[{ token }, 'invalid_request']]),
    resubscribe: ofInstallation(tokenWhy, () => [[{ token }, 'invalid_request']]),
    describeRecipient: ofInstallation(tokenWhy, () => [[{ token }, 'invalid_request']]),
    confirmRecipient: ofInstallation(tokenWhy, () => [[{ token }, 'invalid_request']]),
    getEmailStatus: ofInstallation(
      'all workspaces share one SMTP server; the count includes only emails of the given workspace and of accounts',
      () => [[{}, {}]],
    ),
  },
  alertsSecrets: {
    reencryptSecrets: ofInstallation('an operator changes the encryption key of the installation', () => [
      [{}, { resealed: 0, unreadable: 0 }],
      [{}, 'insufficient_role', { context: { actor: 'user:usr_1' } }],
    ]),
  },
  usage: {
    reportUsage: inOne((_, as) => {
      const requests = [{ ...as, requests: 1n, latencies: Array(20).fill(0n) }];
      return [[{ reporterId: `stranger ${as.environment}`, sequence: 1n, requests }, {}]];
    }),
    getUsage: inOne(() => [[{}, { month: { used: 0n } }]]),
    // The caller has reported a request itself, without an error.
    getRequestMetrics: inOne(() => [[{ range }, { total: { serverErrors: 0n } }]]),
    getDeliveryMetrics: inOne(({ webhookId }) => [
      [{ range }, { total: { attempts: 0n } }],
      [{ range, webhookId, grouping: DeliveryGrouping.WEBHOOK_ID }, { total: { attempts: 0n } }],
    ]),
  },
};
