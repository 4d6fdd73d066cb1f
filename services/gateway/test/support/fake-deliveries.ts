import type { MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs, timestampFromDate, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/base/errors';
import { newId } from '@rms/base/ids';
import {
  DeliveriesService,
  type ListDeliveriesRequest,
  type ReplayDeliveriesRequest,
  ReplayStatus,
} from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { type DeliverySchema, DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { rpcService } from '@rms/rpc';

type Stored = ReturnType<FakeDeliveries['add']> &
  Pick<MessageInitShape<typeof DeliverySchema>, 'delayReason' | 'nextAttemptTime'>;

/** An in-memory delivery log with replays. */
export class FakeDeliveries {
  readonly stored = new Map<string, Stored>();
  readonly lists: ListDeliveriesRequest[] = [];
  readonly replays: ReplayDeliveriesRequest[] = [];
  readonly idempotencyKeys: string[] = [];
  /** Body of the event of every delivery. */
  requestBody = Buffer.from('{"id":"evt_1"}');

  /** Adds a delivery with attempts that each got a response with this body. */
  add(status: DeliveryStatus, bodies: readonly Buffer[] = []) {
    const createTime = timestampFromDate(new Date('2026-01-02T03:04:05.678Z'));
    const attempts = bodies.map((responseBody, i) => ({
      number: i + 1,
      startTime: createTime,
      statusCode: 500,
      error: 'status: 500',
      durationMs: 12,
      url: 'https://example.com/hooks',
      requestHeaders: [{ name: 'content-type', value: 'application/json' }],
      responseHeaders: [{ name: 'date', value: 'now' }],
      responseBody,
      address: '192.0.2.1',
    }));
    const last = attempts.at(-1);
    const delivery = {
      id: newId('dlv'),
      eventId: newId('evt'),
      eventType: 'resource.created',
      webhookId: newId('wh'),
      resourceId: newId('res'),
      requestId: 'req_1',
      status,
      attempts,
      createTime,
      attemptCount: attempts.length,
      ...(last ? { lastAttempt: last } : {}),
    };
    this.stored.set(delivery.id, delivery);
    return delivery;
  }

  readonly service = rpcService(DeliveriesService, {
    listDeliveries: async (request) => {
      this.lists.push(request);
      if (request.pageToken === 'next') return { deliveries: [], page: 2 };
      const stored = [...this.stored.values()];
      const deliveries = request.withAttempts ? stored : stored.map((delivery) => ({ ...delivery, attempts: [] }));
      return { deliveries, nextPageToken: deliveries.length > 0 ? 'next' : '', page: 1 };
    },
    getDelivery: async ({ id }) => ({ delivery: this.#find(id), requestBody: this.requestBody }),
    redeliverDelivery: async ({ id, idempotencyKey }) => this.#answer(id, idempotencyKey),
    cancelDelivery: async ({ id, idempotencyKey }) => {
      const { status } = this.#find(id);
      if (status !== DeliveryStatus.PENDING) throw new RmsError('conflict', { message: 'The delivery has ended.' });
      return this.#answer(id, idempotencyKey);
    },
    replayDeliveries: async (request) => {
      this.replays.push(request);
      const estimate = { count: 42n, duration: durationFromMs(420), countIsMinimum: false };
      return request.dryRun ? estimate : { ...estimate, replay: this.#replay(newId('rpl'), ReplayStatus.RUNNING) };
    },
    getReplay: async ({ id }) => ({ replay: this.#replay(id, ReplayStatus.RUNNING) }),
    listReplays: async () => ({ replays: [this.#replay(newId('rpl'), ReplayStatus.DONE)], page: 1 }),
    cancelReplay: async ({ id }) => ({ replay: this.#replay(id, ReplayStatus.CANCELED) }),
    countDeliveries: () => notForGateways(),
    countUnfinishedDeliveries: () => notForGateways(),
    tailDeliveries: () => notForGateways(),
  });

  #answer(id: string, idempotencyKey: string) {
    this.idempotencyKeys.push(idempotencyKey);
    return { delivery: this.#find(id), replayed: idempotencyKey === 'replayed' };
  }

  #find(id: string): Stored {
    const delivery = this.stored.get(id);
    if (!delivery) throw new RmsError('not_found', { message: `There is no delivery "${id}".` });
    return delivery;
  }

  #replay(id: string, status: ReplayStatus) {
    const since = timestampFromMs(Date.UTC(2026, 0, 2));
    const range = { since, until: since, createTime: since, statuses: [DeliveryStatus.FAILED] };
    return { id, webhookId: 'wh_1', status, total: 42n, replayed: 7n, perSecond: 100, ...range };
  }
}

function notForGateways(): never {
  throw new RmsError('internal_error', { cause: new Error('the gateway does not call this') });
}
