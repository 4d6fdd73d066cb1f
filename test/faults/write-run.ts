import { type Receiver, waitUntil } from '@rms/testkit';
import type { ApiClient } from '../api/support/api-client.ts';
import type { Envelope, One, Page, Resource } from '../api/support/api-types.ts';

export interface WriteRun {
  /** Number of creates that have returned 201 so far. */
  responded(): number;
  /** Ids of all resources; resolves once every create has returned 201. */
  done: Promise<string[]>;
  /** Starts no further create. */
  stop(): void;
}

/**
 * Creates resources from several writers. A create that fails or gets a 5xx is repeated with its Idempotency-Key, as
 * careful clients do, until it returns 201.
 */
export function startWriteRun(client: ApiClient, count: number, name: string, writers = 8): WriteRun {
  const ids: string[] = [];
  let next = 0;
  let end = count;
  const writer = async () => {
    for (let i = next++; i < end; i = next++) {
      const options = { idempotencyKey: `${name}-${i}` };
      await waitUntil(
        async () => {
          const response = await client
            .post<One<Resource>>('/v1/resources', { name: `${name} ${i}` }, options)
            .catch(() => undefined);
          if (response === undefined || response.status >= 500) return false;
          if (response.status !== 201) throw new Error(`create returned ${response.status}: ${response.text}`);
          ids.push(response.body.data.id);
          return true;
        },
        { what: `a 201 for create ${i} of ${name}` },
      );
    }
  };
  const done = Promise.all(Array.from({ length: writers }, writer)).then(() => ids);
  return {
    responded: () => ids.length,
    done,
    stop() {
      end = 0;
    },
  };
}

/** Waits until the event of every id has arrived; throws with the number of missing events. */
export async function waitForAllEvents(receiver: Receiver, ids: readonly string[]): Promise<void> {
  const missing = () => {
    const arrived = new Set(
      receiver.requests.map(({ body }) => (JSON.parse(body.toString('utf8')) as Envelope).data.object.id),
    );
    return ids.filter((id) => !arrived.has(id));
  };
  try {
    await waitUntil(() => missing().length === 0, { what: 'all events' });
  } catch {
    const lost = missing();
    throw new Error(`${lost.length} of ${ids.length} acknowledged creates had no delivery, e.g. ${lost.slice(0, 3)}`);
  }
}

/** Returns the exact number of resources in the client's workspace and environment. */
export async function totalOf(client: ApiClient): Promise<number> {
  return (await client.get<Page<Resource>>('/v1/resources?per_page=1')).body.meta.total;
}
