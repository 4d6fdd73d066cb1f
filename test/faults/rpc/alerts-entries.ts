import { AlertKind } from '@rms/proto/rms/alerts/v1/alert_pb';
import { UsageSpan } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { type Entries, inBoth, inOne, inWorkspace, ofInstallation } from './entry.ts';

const kind = AlertKind.QUOTA;
const tokenWhy = 'the token in the link identifies its target and cannot be forged';
const token = 'made-up';

export const alertsEntries: Entries<'alerts' | 'alertsSecrets' | 'usage'> = {
  alerts: {
    listRules: inOne(() => [[{}, {}]]),
    updateRule: inOne(() => [[{ kind, threshold: 0.5 }, {}]]),
    // Its email goes to the owners, who are the same for both environments.
    testRule: inWorkspace((_, as) => [[{ ...as, kind }, { addresses: [] }]]),
    listIncidents: inBoth(() => [[{ pageSize: 100 }, { incidents: [] }]]),
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
    getUsage: inOne(({ webhookId }) => [[{ span: UsageSpan.HOUR, webhookId }, {}]]),
  },
};
