import { AlertKind } from '@rms/proto/rms/alerts/v1/alert_pb';
import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { SecretsService } from '@rms/proto/rms/alerts/v1/secrets_service_pb';
import { type UsageService, UsageSpan } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import type { Entries } from './entry.ts';

const kind = AlertKind.QUOTA;

export const alertsEntries: Entries<typeof AlertsService> = {
  listRules: {
    keyedBy: 'tenant',
    unspecified: 'refused',
    attempts: ({ alerts }, as) => [[() => alerts.listRules(as), {}]],
  },
  updateRule: {
    keyedBy: 'tenant',
    unspecified: 'refused',
    attempts: ({ alerts }, as) => [[() => alerts.updateRule({ ...as, kind, threshold: 0.5 }), {}]],
  },
  // Its email goes to the owners, who are the same for both environments.
  testRule: {
    keyedBy: 'workspace',
    attempts: ({ alerts }, as) => [[() => alerts.testRule({ ...as, kind }), { addresses: [] }]],
  },
  listIncidents: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ alerts }, as) => [[() => alerts.listIncidents({ ...as, pageSize: 100 }), { incidents: [] }]],
  },
  describeUnsubscribe: {
    keyedBy: 'installation',
    why: 'the token in the link identifies its target and cannot be forged',
    attempts: ({ alerts }) => [[() => alerts.describeUnsubscribe({ token: 'made-up' }), 'invalid_request']],
  },
  unsubscribe: {
    keyedBy: 'installation',
    why: 'the token in the link identifies its target and cannot be forged',
    attempts: ({ alerts }) => [[() => alerts.unsubscribe({ token: 'made-up' }), 'invalid_request']],
  },
  resubscribe: {
    keyedBy: 'installation',
    why: 'the token in the link identifies its target and cannot be forged',
    attempts: ({ alerts }) => [[() => alerts.resubscribe({ token: 'made-up' }), 'invalid_request']],
  },
  describeRecipient: {
    keyedBy: 'installation',
    why: 'the token in the link identifies its target and cannot be forged',
    attempts: ({ alerts }) => [[() => alerts.describeRecipient({ token: 'made-up' }), 'invalid_request']],
  },
  confirmRecipient: {
    keyedBy: 'installation',
    why: 'the token in the link identifies its target and cannot be forged',
    attempts: ({ alerts }) => [[() => alerts.confirmRecipient({ token: 'made-up' }), 'invalid_request']],
  },
  getEmailStatus: {
    keyedBy: 'installation',
    why: 'all workspaces share one SMTP server; the count includes only emails of the given workspace and of accounts',
    attempts: ({ alerts }) => [[() => alerts.getEmailStatus({}), {}]],
  },
};

export const alertsSecretsEntries: Entries<typeof SecretsService> = {
  reencryptSecrets: {
    keyedBy: 'installation',
    why: 'an operator changes the encryption key of the installation',
    attempts: ({ alertsSecrets }) => [
      [() => alertsSecrets.reencryptSecrets({}), { resealed: 0, unreadable: 0 }],
      [() => alertsSecrets.reencryptSecrets({}, { context: { actor: 'user:usr_1' } }), 'insufficient_role'],
    ],
  },
};

export const usageEntries: Entries<typeof UsageService> = {
  reportUsage: {
    keyedBy: 'tenant',
    unspecified: 'refused',
    attempts: ({ usage }, as) => [
      [
        () =>
          usage.reportUsage({
            reporterId: `stranger ${as.environment}`,
            sequence: 1n,
            requests: [{ ...as, requests: 1n, latencies: Array(20).fill(0n) }],
          }),
        {},
      ],
    ],
  },
  getUsage: {
    keyedBy: 'tenant',
    unspecified: 'refused',
    attempts: ({ usage }, as, { webhookId }) => [
      [() => usage.getUsage({ ...as, span: UsageSpan.HOUR, webhookId }), {}],
    ],
  },
};
