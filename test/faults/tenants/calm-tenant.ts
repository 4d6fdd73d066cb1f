import { Worker } from 'node:worker_threads';
import { waitUntil } from '@rms/testkit';

/** A create. Times in milliseconds since the Unix epoch. */
export interface Create {
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** 0 if the connection broke. */
  readonly status: number;
  /** The response, unless the status is 201. */
  readonly text: string;
  /** Empty unless the status is 201. */
  readonly resourceId: string;
}

/** The arrival of an event. */
interface Arrival {
  readonly resourceId: string;
  readonly receivedAtMs: number;
}

/** 'stopped' follows the last create. */
export type CalmMessage = Create | Arrival | 'stopped';

export interface CalmOptions {
  readonly liveUrl: string;
  /** Admin key. */
  readonly key: string;
  /** Creates per second. */
  readonly perSecond: number;
}

/** A tenant that creates resources at a constant rate. Its events go to one healthy endpoint. */
export interface CalmTenant {
  /** Creates with another status than 201. */
  rejected(): readonly Create[];
  /** Waits until the events of all creates so far have arrived. */
  waitForArrivals(): Promise<void>;
  /** Resources with an event that has not arrived. */
  missing(): readonly string[];
  /** Milliseconds from the request's start to its response, and to the arrival of its event, of a period. */
  latencies(fromMs: number, untilMs: number): { response: number[]; event: number[] };
  /** Stops the creates; resolves after the last response. Events still arrive. */
  stop(): Promise<void>;
  close(): Promise<void>;
}

/** Starts the creates in a thread of their own; see calm-tenant-main.ts. */
export function startCalmTenant(options: CalmOptions): CalmTenant {
  const creates: Create[] = [];
  /** Time of the first arrival, by resource. */
  const arrived = new Map<string, number>();
  const stopped = Promise.withResolvers<void>();
  const worker = new Worker(new URL('./calm-tenant-main.ts', import.meta.url), { workerData: options });
  worker.on('message', (message: CalmMessage) => {
    if (message === 'stopped') stopped.resolve();
    else if ('status' in message) creates.push(message);
    else if (!arrived.has(message.resourceId)) arrived.set(message.resourceId, message.receivedAtMs);
  });
  const created = () => creates.filter(({ status }) => status === 201);
  const missing = () => created().flatMap(({ resourceId }) => (arrived.has(resourceId) ? [] : resourceId));
  return {
    rejected: () => creates.filter(({ status }) => status !== 201),
    waitForArrivals: async () =>
      void (await waitUntil(() => missing().length === 0, { what: 'the events of the calm tenant', everyMs: 200 })),
    missing,
    latencies(fromMs, untilMs) {
      const ofPeriod = created().filter((one) => one.startedAtMs >= fromMs && one.startedAtMs < untilMs);
      return {
        response: ofPeriod.map(({ startedAtMs, endedAtMs }) => endedAtMs - startedAtMs),
        event: ofPeriod.map(
          ({ resourceId, startedAtMs }) => (arrived.get(resourceId) ?? Number.POSITIVE_INFINITY) - startedAtMs,
        ),
      };
    },
    async stop() {
      worker.postMessage('stop');
      await stopped.promise;
    },
    close: async () => void (await worker.terminate()),
  };
}
