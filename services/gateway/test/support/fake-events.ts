import type { MessageInitShape } from '@bufbuild/protobuf';
import { RmsError } from '@rms/base/errors';
import { newId } from '@rms/base/ids';
import {
  type EventProgressSchema,
  EventsService,
  type ListEventsRequest,
} from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { rpcService } from '@rms/rpc';

interface Stored {
  readonly id: string;
  readonly type: string;
  readonly position: bigint;
  body: Buffer;
}

/** An in-memory event feed. */
export class FakeEvents {
  readonly stored: Stored[] = [];
  readonly requests: ListEventsRequest[] = [];
  /** Events of every request. */
  readonly passages: MessageInitShape<typeof EventProgressSchema>[] = [];
  readonly requestIds: string[] = [];
  /** Number of expired events. */
  dropped = 0;

  /** Adds an event and returns it with the bytes that webhooks receive. */
  add(name: string): Stored {
    const [id, createdAt] = [newId('evt'), new Date().toISOString()];
    const object = { id: newId('res'), type: 'resource', status: 'active', name, metadata: {} };
    const data = { object: { ...object, created_at: createdAt, updated_at: createdAt } };
    const type = 'resource.created';
    const body = Buffer.from(JSON.stringify({ id, type, created_at: createdAt, data }));
    const event = { id, type, position: BigInt(this.stored.length + 1), body };
    this.stored.push(event);
    return event;
  }

  readonly service = rpcService(EventsService, {
    listEvents: async (request, { requestId }) => {
      const { after, pageSize } = request;
      this.requests.push(request);
      this.requestIds.push(requestId);
      const newest = BigInt(this.stored.length);
      if (after > newest) {
        throw new RmsError('invalid_request', { details: [{ field: 'after', message: 'is beyond the newest event' }] });
      }
      const kept = this.stored.slice(this.dropped);
      const rest = kept.filter(({ position }) => position > after);
      const earlier = kept.filter(({ position }) => position <= after).slice(-pageSize);
      return {
        events: rest.slice(0, pageSize),
        oldestPosition: kept[0]?.position ?? 0n,
        newestPosition: newest,
        hasMore: rest.length > pageSize,
        ...(earlier[0] ? { previousAfter: earlier[0].position - 1n } : {}),
      };
    },
    getEvent: async ({ id }) => {
      const event = this.stored.find((stored) => stored.id === id);
      if (!event) throw new RmsError('not_found', { message: `There is no event "${id}".` });
      return { event };
    },
    watchEvents: () => notForGateways(),
    listEventsOfRequest: async () => ({ events: [...this.passages] }),
    listEventsOfResource: async () => notForGateways(),
  });
}

function notForGateways(): never {
  throw new RmsError('internal_error', { cause: new Error('the gateway does not call this') });
}
