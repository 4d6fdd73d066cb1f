import { type Receiver, waitUntil } from '@rms/testkit';
import type { ApiClient } from '../../api/support/api-client.ts';
import type { Envelope, One, Resource } from '../../api/support/api-types.ts';

/** A create, and the arrival of its event. Times in milliseconds since the Unix epoch. */
interface Create {
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** 0 if the connection broke. */
  readonly status: number;
  readonly text: string;
  /** Empty unless the status is 201. */
  readonly resourceId: string;
}

/** A tenant that creates resources at a constant rate. Its events go to one healthy endpoint. */
export interface CalmTenant {
  /** Creates whose status is not 201. */
  rejected(): readonly Create[];
  /** Waits until the events of all creates so far have arrived. */
  waitForArrivals(): Promise<void>;
  /** Resources whose event has not arrived. */
  missing(): readonly string[];
  /** Milliseconds from the start of the request to the arrival of its event, for the creates of a period. */
  latencies(fromMs: number, untilMs: number): number[];
  /** Stops; resolves after the last response. */
  stop(): Promise<void>;
}

/** Starts the creates. A slow response does not delay the next request. */
export function startCalmTenant(client: ApiClient, receiver: Receiver, perSecond: number): CalmTenant {
  const creates: Create[] = [];
  const running = new Set<Promise<void>>();
  const create = async (number: number) => {
    const startedAtMs = Date.now();
    const { status, text, body } = await client
      .post<One<Resource>>('/v1/resources', { name: `calm ${number}` })
      .catch((error: Error) => ({ status: 0, text: error.message, body: undefined }));
    const resourceId = status === 201 ? (body?.data.id ?? '') : '';
    creates.push({ startedAtMs, endedAtMs: Date.now(), status, text, resourceId });
  };

  const startedAtMs = performance.now();
  let started = 0;
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAtMs) * perSecond) / 1_000;
    for (; started < due; started += 1) {
      const one = create(started).finally(() => running.delete(one));
      running.add(one);
    }
  }, 10);
  const arrivals = () => {
    const first = new Map<string, number>();
    for (const { json, receivedAtMs } of receiver.requests) {
      const { id } = (json as Envelope).data.object;
      if (!first.has(id)) first.set(id, receivedAtMs);
    }
    return first;
  };
  const missingOf = (ids: readonly string[]) => {
    const arrived = arrivals();
    return ids.filter((id) => !arrived.has(id));
  };
  const created = () => creates.filter(({ status }) => status === 201);
  return {
    rejected: () => creates.filter(({ status }) => status !== 201),
    async waitForArrivals() {
      const ids = created().map(({ resourceId }) => resourceId);
      await waitUntil(() => missingOf(ids).length === 0, { what: 'the events of the calm tenant', everyMs: 200 });
    },
    missing: () => missingOf(created().map(({ resourceId }) => resourceId)),
    latencies(fromMs, untilMs) {
      const arrived = arrivals();
      return created()
        .filter((one) => one.startedAtMs >= fromMs && one.startedAtMs < untilMs)
        .map(({ resourceId, startedAtMs: atMs }) => (arrived.get(resourceId) ?? Number.POSITIVE_INFINITY) - atMs);
    },
    async stop() {
      clearInterval(timer);
      await Promise.all(running);
    },
  };
}
