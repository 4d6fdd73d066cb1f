import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/base/ids';
import { AlertKind, ChannelType } from '@rms/proto/rms/alerts/v1/alert_pb';
import { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { SecretsService } from '@rms/proto/rms/alerts/v1/secrets_service_pb';
import { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { type AuditedCases, auditedChain, auditedSecrets, perSuite, testAuditedCases, waitUntil } from '@rms/testkit';
import { makeResubscribeToken, makeUnsubscribeToken } from '../src/notify/unsubscribe-token.ts';
import { makeConfirmationToken } from '../src/recipient/confirmation-token.ts';
import { userIdOf } from './fake-auth.ts';
import { startAlerts, type Tenant } from './support.ts';

const services = [AlertsService, SecretsService, UsageService];
const kind = AlertKind.QUOTA;
const owner = 'owner@example.com';
const routingKey = 'routing-key-of-a-service';
const addresses = { addresses: [owner, 'viewer@example.com'] };
const keys = [Buffer.alloc(32, 2)] as const;

describe('Entries of the audit log of alerts', () => {
  const tokens = new Set<string>();
  const service = perSuite(startAlerts);

  const newWorkspace = () => service.newWorkspace(owner);
  const byOwner = (requestId: string) => ({
    context: { actor: `user:${userIdOf(owner)}`, actorName: owner, requestId },
  });
  const unsubscriptionOf = ({ workspaceId }: Tenant) =>
    ({ workspaceId, environment: 'live', kind: 'quota', address: owner }) as const;
  const unsubscribeToken = (tenant: Tenant) => {
    const token = makeUnsubscribeToken(keys, unsubscriptionOf(tenant));
    tokens.add(token);
    return token;
  };

  const newChannel = async (tenant: Tenant) => {
    const fields = { type: ChannelType.EMAIL, name: 'On-call', addresses: [owner] };
    return (await service.alerts.createChannel({ ...tenant, ...fields })).channel?.id ?? '';
  };
  const newIncident = async (tenant: Tenant) => {
    await service.notify(tenant, 'webhook.disabled', newId('wh'));
    const read = async () => (await service.alerts.listIncidents({ ...tenant, pageSize: 1 })).incidents[0]?.id;
    return waitUntil(read, { what: 'the incident' });
  };

  const cases: AuditedCases = {
    'AlertsService/updateRule': async (requestId) => {
      const tenant = newWorkspace();
      await service.alerts.updateRule({
        ...tenant,
        kind,
        threshold: 0.5,
        recipients: { addresses: ['a@example.com'] },
      });
      await service.alerts.unsubscribe({ token: unsubscribeToken(tenant) });
      const recipients = { addresses: ['a@example.com', 'viewer@example.com'] };
      const changed = { threshold: 0.9, enabled: false, toOwners: false, recipients, unsubscribed: { addresses: [] } };
      // The second call changes nothing.
      for (let i = 0; i < 2; i += 1)
        await service.alerts.updateRule({ ...tenant, kind, ...changed }, byOwner(requestId));
      const changes = {
        enabled: [true, false],
        threshold: [0.5, 0.9],
        recipients: [['a@example.com'], ['a@example.com', 'viewer@example.com']],
        to_owners: [true, false],
        unsubscribed: [[owner], null],
      } as const;
      return [['alert_rule.updated', 'Monthly quota', owner, changes]];
    },
    'AlertsService/testRule': async (requestId) => {
      await service.alerts.testRule({ ...newWorkspace(), kind }, byOwner(requestId));
      return [['alert_rule.tested', 'Monthly quota', owner, {}]];
    },
    'AlertsService/unsubscribe': async (requestId) => {
      const token = unsubscribeToken(newWorkspace());
      // The second call changes nothing.
      for (let i = 0; i < 2; i += 1) await service.alerts.unsubscribe({ token }, { context: { requestId } });
      return [['alert_rule.unsubscribed', 'Monthly quota', '', { unsubscribed: [null, [owner]] }]];
    },
    'AlertsService/resubscribe': async (requestId) => {
      const tenant = newWorkspace();
      await service.alerts.unsubscribe({ token: unsubscribeToken(tenant) });
      const token = makeResubscribeToken(keys, unsubscriptionOf(tenant), Date.now());
      tokens.add(token);
      for (let i = 0; i < 2; i += 1) await service.alerts.resubscribe({ token }, { context: { requestId } });
      return [['alert_rule.resubscribed', 'Monthly quota', '', { unsubscribed: [[owner], null] }]];
    },
    'AlertsService/confirmRecipient': async (requestId) => {
      const { workspaceId } = newWorkspace();
      const token = makeConfirmationToken(keys, { workspaceId, address: 'ops@partner.example' }, Date.now());
      tokens.add(token);
      for (let i = 0; i < 2; i += 1) await service.alerts.confirmRecipient({ token }, { context: { requestId } });
      return [['alert_recipient.confirmed', 'ops@partner.example', '', { confirmed: [false, true] }]];
    },
    'AlertsService/createChannel': async (requestId) => {
      const fields = { type: ChannelType.PAGERDUTY, name: 'On-call', routingKey };
      await service.alerts.createChannel({ ...newWorkspace(), ...fields }, byOwner(requestId));
      const changes = { type: [null, 'pagerduty'], name: [null, 'On-call'], secret: [null, '[secret]'] } as const;
      return [['alert_channel.created', 'On-call', owner, changes]];
    },
    'AlertsService/updateChannel': async (requestId) => {
      const tenant = newWorkspace();
      const id = await newChannel(tenant);
      for (let i = 0; i < 2; i += 1) {
        await service.alerts.updateChannel({ ...tenant, id, name: 'Night', addresses }, byOwner(requestId));
      }
      const changes = { name: ['On-call', 'Night'], addresses: [[owner], [owner, 'viewer@example.com']] } as const;
      return [['alert_channel.updated', 'Night', owner, changes]];
    },
    'AlertsService/deleteChannel': async (requestId) => {
      const tenant = newWorkspace();
      await service.alerts.deleteChannel({ ...tenant, id: await newChannel(tenant) }, byOwner(requestId));
      const changes = { type: ['email', null], name: ['On-call', null], addresses: [[owner], null] } as const;
      return [['alert_channel.deleted', 'On-call', owner, changes]];
    },
    'AlertsService/testChannel': async (requestId) => {
      const tenant = newWorkspace();
      await service.alerts.testChannel({ ...tenant, id: await newChannel(tenant) }, byOwner(requestId));
      return [['alert_channel.tested', 'On-call', owner, {}]];
    },
    'AlertsService/acknowledgeIncident': async (requestId) => {
      const tenant = newWorkspace();
      const id = await newIncident(tenant);
      // The second call changes nothing.
      for (let i = 0; i < 2; i += 1) await service.alerts.acknowledgeIncident({ ...tenant, id }, byOwner(requestId));
      const changes = { acknowledged_by: [null, `user:${userIdOf(owner)}`] } as const;
      return [['incident.acknowledged', 'Webhook disabled', owner, changes]];
    },
    'AlertsService/muteIncident': async (requestId) => {
      const tenant = newWorkspace();
      const id = await newIncident(tenant);
      const untilMs = Date.now() + 3_600_000;
      await service.alerts.muteIncident({ ...tenant, id, untilTime: timestampFromMs(untilMs) }, byOwner(requestId));
      const changes = { muted_until: [null, new Date(untilMs).toISOString()] } as const;
      return [['incident.muted', 'Webhook disabled', owner, changes]];
    },
    'SecretsService/reencryptSecrets': async (requestId) => {
      const context = { actor: 'operator:alice@laptop', requestId };
      await service.secrets.reencryptSecrets({}, { context });
      return [['secrets.reencryption_started', 'alerts', '', {}]];
    },
    ...Object.fromEntries(
      [
        ...UsageService.methods,
        AlertsService.method.listRules,
        AlertsService.method.getRule,
        AlertsService.method.listIncidents,
        AlertsService.method.getIncident,
        AlertsService.method.listChannels,
        AlertsService.method.getChannel,
        AlertsService.method.describeUnsubscribe,
        AlertsService.method.describeRecipient,
        AlertsService.method.getEmailStatus,
      ].map(({ parent, localName }) => [`${parent.name}/${localName}`, undefined]),
    ),
  };

  testAuditedCases(services, cases, () => service.database.pool);

  test('of concurrent updates form a chain: each begins with the values with which the previous one ended', async () => {
    const tenant = newWorkspace();
    const thresholds = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7];
    await Promise.all(thresholds.map((threshold) => service.alerts.updateRule({ ...tenant, kind, threshold })));
    const { rules } = await service.alerts.listRules(tenant);
    const [stored] = rules.filter((rule) => rule.kind === kind);
    const chain = await auditedChain(service.database.pool, 'quota', 'threshold', tenant.workspaceId);
    expect([chain.length, chain.at(-1)]).toEqual([thresholds.length + 1, String(stored?.threshold)]);
  });

  test('contain no token', async () => {
    tokens.add(routingKey);
    expect(tokens.size).toBeGreaterThan(3);
    expect(await auditedSecrets(service.database.pool, tokens)).toEqual([]);
  });
});
