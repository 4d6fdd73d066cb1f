import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { DeadLettersService } from '@rms/proto/rms/webhooks/v1/dead_letters_service_pb';
import { type DeliveriesService, DeliveryGrouping } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import type { LookupService } from '@rms/proto/rms/webhooks/v1/lookup_service_pb';
import type { SecretsService } from '@rms/proto/rms/webhooks/v1/secrets_service_pb';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import type { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import type { Entries } from './entry.ts';
import { idempotencyKey } from './owned.ts';

export const webhooksEntries: Entries<typeof WebhooksService> = {
  createWebhook: {
    keyedBy: 'tenant',
    unspecified: 'refused',
    // Repeats the owner's request with the owner's idempotency key. The second call repeats the caller's own key.
    attempts: ({ webhooks }, as, { url }) => {
      const request = { ...as, url, events: ['*'], idempotencyKey };
      return [
        [() => webhooks.createWebhook(request), { webhook: as, replayed: false }],
        [() => webhooks.createWebhook({ ...request, events: ['resource.deleted'] }), 'idempotency_key_reused'],
      ];
    },
  },
  getWebhook: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ webhooks }, as, { webhookId: id }) => [[() => webhooks.getWebhook({ ...as, id }), 'not_found']],
  },
  listWebhooks: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ webhooks }, as, { pageTokens }) => [
      [() => webhooks.listWebhooks({ ...as, pageSize: 100 }), {}],
      [() => webhooks.listWebhooks({ ...as, pageSize: 1, pageToken: pageTokens.webhooks }), 'invalid_request'],
      [() => webhooks.listWebhooks({ ...as, pageSize: 1, pageToken: pageTokens.deliveries }), 'invalid_request'],
    ],
  },
  updateWebhook: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ webhooks }, as, { webhookId: id, url }) => [
      [() => webhooks.updateWebhook({ ...as, id, url: `${url}/taken` }), 'not_found'],
      [() => webhooks.updateWebhook({ ...as, id, status: WebhookStatus.DISABLED }), 'not_found'],
    ],
  },
  deleteWebhook: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ webhooks }, as, { webhookId: id }) => [[() => webhooks.deleteWebhook({ ...as, id }), 'not_found']],
  },
  rotateSecret: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ webhooks }, as, { webhookId: id }) => [
      [() => webhooks.rotateSecret({ ...as, id }), 'not_found'],
      [() => webhooks.rotateSecret({ ...as, id, idempotencyKey }), 'not_found'],
    ],
  },
  testWebhook: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ webhooks }, as, { webhookId: id }) => [
      [() => webhooks.testWebhook({ ...as, id }), 'not_found'],
      [() => webhooks.testWebhook({ ...as, id, idempotencyKey }), 'not_found'],
    ],
  },
  batchGetWebhookHealth: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ webhooks }, as, { webhookId, failingId }) => [
      [() => webhooks.batchGetWebhookHealth({ ...as, ids: [webhookId, failingId] }), { healths: [] }],
    ],
  },
};

export const deliveriesEntries: Entries<typeof DeliveriesService> = {
  listDeliveries: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ deliveries }, as, { webhookId, requestId, eventId, pageTokens }) => {
      const none = { deliveries: [], nextPageToken: '' };
      return [
        [() => deliveries.listDeliveries({ ...as, pageSize: 1_000 }), {}],
        [() => deliveries.listDeliveries({ ...as, pageSize: 1_000, webhookId }), none],
        [() => deliveries.listDeliveries({ ...as, pageSize: 1_000, requestId }), {}],
        [() => deliveries.listDeliveries({ ...as, pageSize: 1_000, eventId }), none],
        [() => deliveries.listDeliveries({ ...as, pageSize: 1, pageToken: pageTokens.deliveries }), 'invalid_request'],
      ];
    },
  },
  getDelivery: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ deliveries }, as, { deliveryId: id }) => [[() => deliveries.getDelivery({ ...as, id }), 'not_found']],
  },
  redeliverDelivery: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ deliveries }, as, { deliveryId: id }) => [
      [() => deliveries.redeliverDelivery({ ...as, id }), 'not_found'],
    ],
  },
  cancelDelivery: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ deliveries }, as, { deliveryId: id }) => [
      [() => deliveries.cancelDelivery({ ...as, id }), 'not_found'],
      [() => deliveries.cancelDelivery({ ...as, id, idempotencyKey: 'cancel' }), 'not_found'],
    ],
  },
  replayDeliveries: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ deliveries }, as, { failingId: webhookId }) => {
      const since = timestampFromMs(0);
      return [
        [() => deliveries.replayDeliveries({ ...as, webhookId, since }), 'not_found'],
        [() => deliveries.replayDeliveries({ ...as, webhookId, since, dryRun: true }), 'not_found'],
      ];
    },
  },
  getReplay: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ deliveries }, as, { replayId: id }) => [[() => deliveries.getReplay({ ...as, id }), 'not_found']],
  },
  listReplays: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ deliveries }, as, { pageTokens }) => [
      [() => deliveries.listReplays({ ...as, pageSize: 100 }), { replays: [] }],
      [() => deliveries.listReplays({ ...as, pageSize: 1, pageToken: pageTokens.deliveries }), 'invalid_request'],
    ],
  },
  cancelReplay: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ deliveries }, as, { replayId: id }) => [[() => deliveries.cancelReplay({ ...as, id }), 'not_found']],
  },
  countDeliveries: {
    keyedBy: 'installation',
    why: 'an operator counts the deliveries of all workspaces: IDs and numbers, not their content',
    reveals: true,
    attempts: ({ deliveries }) => [[() => deliveries.countDeliveries({ groupBy: DeliveryGrouping.WEBHOOK }), {}]],
  },
  countUnfinishedDeliveries: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ deliveries }, as) => [[() => deliveries.countUnfinishedDeliveries(as), {}]],
  },
  tailDeliveries: {
    keyedBy: 'tenant',
    unspecified: 'refused',
    attempts: ({ deliveries }, as, { deliveryId }) => [
      [() => deliveries.tailDeliveries({ ...as, knownIds: [deliveryId] }), { known: [] }],
      [() => deliveries.tailDeliveries({ ...as, after: 0n }), {}],
    ],
  },
};

export const eventsEntries: Entries<typeof EventsService> = {
  getEvent: {
    keyedBy: 'tenant',
    unspecified: 'refused',
    attempts: ({ events }, as, { eventId: id }) => [[() => events.getEvent({ ...as, id }), 'not_found']],
  },
  listEvents: {
    keyedBy: 'tenant',
    unspecified: 'refused',
    attempts: ({ events }, as, { newestPosition }) => [
      [() => events.listEvents({ ...as, pageSize: 1_000 }), {}],
      // Strangers have fewer events than the owner.
      [() => events.listEvents({ ...as, pageSize: 1_000, after: newestPosition }), 'invalid_request'],
    ],
  },
  listEventsOfRequest: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ events }, as, { requestId }) => [[() => events.listEventsOfRequest({ ...as, requestId }), {}]],
  },
  listEventsOfResource: {
    keyedBy: 'tenant',
    unspecified: 'both',
    attempts: ({ events }, as, { resourceId, pageTokens }) => [
      [() => events.listEventsOfResource({ ...as, resourceId, pageSize: 100 }), { events: [], nextPageToken: '' }],
      [
        () => events.listEventsOfResource({ ...as, resourceId, pageSize: 1, pageToken: pageTokens.deliveries }),
        'invalid_request',
      ],
    ],
  },
  watchEvents: {
    keyedBy: 'tenant',
    unspecified: 'refused',
    attempts: ({ events }, as) => [[() => allOf(events.watchEvents({ ...as, after: 0n }, { timeoutMs: 1_000 })), {}]],
  },
};

/** Collects all responses of a stream that ends with its deadline. */
async function allOf(stream: AsyncIterable<unknown>): Promise<{ responses: unknown[] }> {
  const responses: unknown[] = [];
  try {
    for await (const response of stream) responses.push(response);
  } catch (error) {
    if ((error as { code?: string }).code !== 'timeout') throw error;
  }
  return { responses };
}

export const deadLettersEntries: Entries<typeof DeadLettersService> = {
  listDeadLetters: {
    keyedBy: 'installation',
    why: 'an operator reads the records that could not be stored, some of which have no workspace',
    reveals: true,
    attempts: ({ deadLetters }, { pageTokens }) => [
      [() => deadLetters.listDeadLetters({ pageSize: 1 }), {}],
      [() => deadLetters.listDeadLetters({ pageSize: 1, pageToken: pageTokens.webhooks }), 'invalid_request'],
    ],
  },
  replayDeadLetters: {
    keyedBy: 'installation',
    why: 'an operator stores records again, some of which have no workspace',
    attempts: ({ deadLetters }, { pageTokens }) => {
      const selection = { case: 'all', value: true } as const;
      return [
        [() => deadLetters.replayDeadLetters({ selection }), { parked: 0 }],
        [() => deadLetters.replayDeadLetters({ selection, pageToken: pageTokens.webhooks }), 'invalid_request'],
      ];
    },
  },
};

export const lookupEntries: Entries<typeof LookupService> = {
  findWorkspaces: {
    keyedBy: 'installation',
    why: 'an operator finds the workspace of an object: its ID only',
    reveals: true,
    attempts: ({ webhooksLookup }, { webhookId: id }) => [
      [() => webhooksLookup.findWorkspaces({ id }), {}],
      [() => webhooksLookup.findWorkspaces({ id: '' }), 'invalid_request'],
    ],
  },
};

export const secretsEntries: Entries<typeof SecretsService> = {
  reencryptSecrets: {
    keyedBy: 'installation',
    why: 'an operator has changed ENCRYPTION_KEY, which encrypts the secrets of all workspaces',
    attempts: ({ secrets }, { pageTokens }) => [
      [() => secrets.reencryptSecrets({}), { resealed: 0, unreadable: 0, unreadableWebhooks: [] }],
      [() => secrets.reencryptSecrets({ pageToken: pageTokens.webhooks }), 'invalid_request'],
    ],
  },
};
