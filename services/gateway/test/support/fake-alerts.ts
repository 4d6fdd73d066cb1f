import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/base/errors';
import { newId } from '@rms/base/ids';
import {
  AlertKind,
  type ChannelSchema,
  ChannelType,
  type IncidentSchema,
  IncidentState,
  type RuleSchema,
} from '@rms/proto/rms/alerts/v1/alert_pb';
import {
  AlertsService,
  type ListIncidentsRequest,
  TestEmailState,
  type UpdateRuleRequest,
} from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { rpcService } from '@rms/rpc';

const at = timestampFromDate(new Date('2026-01-02T03:04:05.678Z'));

/** An in-memory alerts service with one rule and its incidents. */
export class FakeAlerts {
  readonly updates: UpdateRuleRequest[] = [];
  readonly lists: ListIncidentsRequest[] = [];
  readonly idempotencyKeys: string[] = [];
  readonly rule: MessageInitShape<typeof RuleSchema> = {
    kind: AlertKind.QUOTA,
    enabled: true,
    threshold: 0.8,
    toOwners: true,
    version: 3n,
  };
  readonly channel: MessageInitShape<typeof ChannelSchema> = {
    id: newId('chn'),
    type: ChannelType.WEBHOOK,
    name: 'On-call',
    url: 'https://example.com/alerts',
    version: 1n,
    createTime: at,
    updateTime: at,
  };
  readonly incidents = new Map<string, MessageInitShape<typeof IncidentSchema>>();

  addIncident(given: MessageInitShape<typeof IncidentSchema> = {}): string {
    const id = newId('inc');
    const subject = { kind: AlertKind.WEBHOOK_DISABLED, subjectId: newId('wh'), object: 'https://example.com/hooks' };
    const incident = { id, ...subject, state: IncidentState.OPEN, openTime: at, lastNoticeTime: at, notices: 1 };
    this.incidents.set(id, { ...incident, ...given });
    return id;
  }

  #incident(id: string) {
    const incident = this.incidents.get(id);
    if (!incident) throw new RmsError('not_found');
    return { incident };
  }

  readonly service = rpcService(AlertsService, {
    listRules: async () => ({ rules: [this.rule], page: 1, totalSize: 1n }),
    getRule: async () => ({ rule: this.rule }),
    updateRule: async (request) => {
      this.updates.push(request);
      const { expectedVersions } = request;
      if (expectedVersions.length > 0 && !expectedVersions.includes(this.rule.version ?? 0n)) {
        throw new RmsError('precondition_failed');
      }
      return { rule: this.rule };
    },
    testRule: async ({ idempotencyKey }) => {
      this.idempotencyKeys.push(idempotencyKey);
      const emails = [{ address: 'owner@example.com', state: TestEmailState.SENT, reply: '250 OK' }];
      return { addresses: ['owner@example.com'], emails, replayed: idempotencyKey === 'replayed' };
    },
    listIncidents: async (request) => {
      this.lists.push(request);
      return { incidents: [...this.incidents.values()], page: 1 };
    },
    getIncident: async ({ id }) => this.#incident(id),
    acknowledgeIncident: async ({ id }) => this.#incident(id),
    muteIncident: async ({ id }) => this.#incident(id),
    listChannels: async () => ({ channels: [this.channel], page: 1, totalSize: 1n }),
    getChannel: async () => ({ channel: this.channel }),
    createChannel: async () => ({ channel: this.channel, secret: 'whsec_new' }),
    updateChannel: async () => ({ channel: this.channel }),
    deleteChannel: async () => ({}),
    testChannel: async () => ({ delivered: true, statusCode: 200, durationMs: 12, responseBody: 'ok' }),
    // Only pages call these.
    describeUnsubscribe: async () => ({}),
    unsubscribe: async () => ({}),
    resubscribe: async () => ({}),
    describeRecipient: async () => ({}),
    confirmRecipient: async () => ({}),
    getEmailStatus: async () => ({}),
  });
}
