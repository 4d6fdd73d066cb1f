import { type Receiver, waitUntil } from '@rms/testkit';
import type { ApiClient } from '../api/support/api-client.ts';
import type { Envelope, One, Page, Resource } from '../api/support/api-types.ts';

export interface WriteRun {
  /** How many creates have been answered 201 so far. */
  answered(): number;
  /** The ids of all resources, once every create has been answered 201. */
  done: Promise<string[]>;
  /** Begins no further create. */
  stop(): void;
}

/**
 * Creates resources from some writers. A write that is refused or breaks off is sent again with its Idempotency-Key,
 * as a careful client does, until it is answered 201.
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
          const answer = await client
            .post<One<Resource>>('/v1/resources', { name: `${name} ${i}` }, options)
            .catch(() => undefined);
          if (answer === undefined || answer.status >= 500) return false;
          if (answer.status !== 201) throw new Error(`create answered ${answer.status}: ${answer.text}`);
          ids.push(answer.body.data.id);
          return true;
        },
        { what: `create ${i} of ${name} to be answered`, timeoutMs: 60_000 },
      );
    }
  };
  const done = Promise.all(Array.from({ length: writers }, writer)).then(() => ids);
  return {
    answered: () => ids.length,
    done,
    stop() {
      end = 0;
    },
  };
}

/** Waits until the event of every id has arrived; fails with how many are missing. */
export async function waitForAllEvents(receiver: Receiver, ids: readonly string[]): Promise<void> {
  const missing = () => {
    const arrived = new Set(
      receiver.requests.map(({ body }) => (JSON.parse(body.toString('utf8')) as Envelope).data.object.id),
    );
    return ids.filter((id) => !arrived.has(id));
  };
  try {
    await waitUntil(() => missing().length === 0, { what: 'all events', timeoutMs: 60_000 });
  } catch {
    const lost = missing();
    throw new Error(`${lost.length} of ${ids.length} answered creates had no delivery, e.g. ${lost.slice(0, 3)}`);
  }
}

/** The exact number of resources of the client's workspace and environment. */
export async function totalOf(client: ApiClient): Promise<number> {
  return (await client.get<Page<Resource>>('/v1/resources?per_page=1')).body.meta.total;
}
