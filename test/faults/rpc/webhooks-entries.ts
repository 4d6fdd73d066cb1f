import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { DeliveryGrouping } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { type Entries, inBoth, inOne, inWorkspace, ofInstallation } from './entry.ts';
import { idempotencyKey } from './owned.ts';

const since = timestampFromMs(0);

export const webhooksEntries: Entries<
  'webhooks' | 'deliveries' | 'events' | 'deadLetters' | 'webhooksLookup' | 'secrets'
> = {
  webhooks: {
    // Repeats the owner's request with the owner's idempotency key. The second call repeats the caller's own key.
    createWebhook: inOne(({ url }, as) => [
      [
        { url, events: ['*'], idempotencyKey },
        { webhook: as, replayed: false },
      ],
      [{ url, events: ['resource.deleted'], idempotencyKey }, 'idempotency_key_reused'],
    ]),
    getWebhook: inBoth(({ webhookId: id }) => [[{ id }, 'not_found']]),
    listWebhooks: inBoth(({ pageTokens }) => [
      [{ pageSize: 100 }, {}],
      [{ pageSize: 1, pageToken: pageTokens.webhooks }, 'invalid_request'],
      [{ pageSize: 1, pageToken: pageTokens.deliveries }, 'invalid_request'],
    ]),
    updateWebhook: inBoth(({ webhookId: id, url }) => [
      [{ id, url: `${url}/taken` }, 'not_found'],
      [{ id, status: WebhookStatus.DISABLED }, 'not_found'],
    ]),
    deleteWebhook: inBoth(({ webhookId: id }) => [[{ id }, 'not_found']]),
    pauseWebhook: inBoth(({ webhookId: id }) => [
      [{ id }, 'not_found'],
      [{ id, idempotencyKey }, 'not_found'],
    ]),
    resumeWebhook: inBoth(({ webhookId: id }) => [
      [{ id }, 'not_found'],
      [{ id, idempotencyKey }, 'not_found'],
    ]),
    rotateSecret: inBoth(({ webhookId: id }) => [
      [{ id }, 'not_found'],
      [{ id, idempotencyKey }, 'not_found'],
    ]),
    testWebhook: inBoth(({ webhookId: id }) => [
      [{ id }, 'not_found'],
      [{ id, idempotencyKey }, 'not_found'],
    ]),
    testFilter: inBoth(({ eventId }) => [
      [{ filter: '{"all":[{"field":"name","op":"exists"}]}', eventId }, 'not_found'],
    ]),
    countWebhooks: inWorkspace(() => [[{}, {}]]),
    batchGetWebhookHealth: inBoth(({ webhookId, failingId }) => [[{ ids: [webhookId, failingId] }, { healths: [] }]]),
  },
  deliveries: {
    listDeliveries: inBoth(({ webhookId, requestId, eventId, pageTokens }) => {
      const none = { deliveries: [], nextPageToken: '' };
      return [
        [{ pageSize: 1_000 }, {}],
        [{ pageSize: 1_000, webhookId }, none],
        [{ pageSize: 1_000, requestId }, {}],
        [{ pageSize: 1_000, eventId }, none],
        [{ pageSize: 1, pageToken: pageTokens.deliveries }, 'invalid_request'],
      ];
    }),
    getDelivery: inBoth(({ deliveryId: id }) => [[{ id }, 'not_found']]),
    redeliverDelivery: inBoth(({ deliveryId: id }) => [[{ id }, 'not_found']]),
    cancelDelivery: inBoth(({ deliveryId: id }) => [
      [{ id }, 'not_found'],
      [{ id, idempotencyKey: 'cancel' }, 'not_found'],
    ]),
    replayDeliveries: inBoth(({ failingId: webhookId }) => [
      [{ webhookId, since }, 'not_found'],
      [{ webhookId, since, dryRun: true }, 'not_found'],
    ]),
    getReplay: inBoth(({ replayId: id }) => [[{ id }, 'not_found']]),
    listReplays: inBoth(({ pageTokens }) => [
      [{ pageSize: 100 }, { replays: [] }],
      [{ pageSize: 1, pageToken: pageTokens.deliveries }, 'invalid_request'],
    ]),
    cancelReplay: inBoth(({ replayId: id }) => [[{ id }, 'not_found']]),
    countDeliveries: ofInstallation(
      'an operator counts the deliveries of all workspaces: IDs and numbers, not their content',
      () => [[{ groupBy: DeliveryGrouping.WEBHOOK }, {}]],
      { reveals: true },
    ),
    countUnfinishedDeliveries: inBoth(() => [[{}, {}]]),
    tailDeliveries: inOne(({ deliveryId }) => [
      [{ knownIds: [deliveryId] }, { known: [] }],
      [{ after: 0n }, {}],
    ]),
  },
  events: {
    getEvent: inOne(({ eventId: id }) => [[{ id }, 'not_found']]),
    listEvents: inOne(({ newestPosition }) => [
      [{ pageSize: 1_000 }, {}],
      // Strangers have fewer events than the owner.
      [{ pageSize: 1_000, after: newestPosition }, 'invalid_request'],
    ]),
    listEventsOfRequest: inBoth(({ requestId }) => [[{ requestId }, {}]]),
    listEventsOfResource: inBoth(({ resourceId, pageTokens }) => [
      [
        { resourceId, pageSize: 100 },
        { events: [], nextPageToken: '' },
      ],
      [{ resourceId, pageSize: 1, pageToken: pageTokens.deliveries }, 'invalid_request'],
    ]),
    watchEvents: inOne(() => [[{ after: 0n }, {}, { timeoutMs: 1_000 }]]),
  },
  deadLetters: {
    listDeadLetters: ofInstallation(
      'an operator reads the records that could not be stored, some of which have no workspace',
      ({ pageTokens }) => [
        [{ pageSize: 1 }, {}],
        [{ pageSize: 1, pageToken: pageTokens.webhooks }, 'invalid_request'],
      ],
      { reveals: true },
    ),
    replayDeadLetters: ofInstallation(
      'an operator stores records again, some of which have no workspace',
      ({ pageTokens }) => {
        const selection = { case: 'all', value: true } as const;
        return [
          [{ selection }, { parked: 0 }],
          [{ selection, pageToken: pageTokens.webhooks }, 'invalid_request'],
        ];
      },
    ),
  },
  webhooksLookup: {
    findWorkspaces: ofInstallation(
      'an operator finds the workspace of an object: its ID only',
      ({ webhookId: id }) => [
        [{ id }, {}],
        [{ id: '' }, 'invalid_request'],
      ],
      { reveals: true },
    ),
  },
  secrets: {
    reencryptSecrets: ofInstallation(
      'an operator has changed ENCRYPTION_KEY, which encrypts the secrets of all workspaces',
      ({ pageTokens }) => [
        [{}, { resealed: 0, unreadable: 0, unreadableWebhooks: [] }],
        [{ pageToken: pageTokens.webhooks }, 'invalid_request'],
      ],
    ),
  },
};
