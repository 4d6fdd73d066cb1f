import { type Receiver, waitUntil } from '@rms/testkit';
import type pg from 'pg';
import type { ApiClient } from '../api/support/api-client.ts';
import type { Envelope } from '../api/support/api-types.ts';
import { readContract } from '../api/support/openapi-contract.ts';
import { type Account, newAccount, type Shape } from '../api/support/shape.ts';
import { subscribe } from '../api/support/subscriber.ts';

/** Result of a run, once no delivery is in progress. */
export interface Tally {
  /** Resources with an event that has not arrived. */
  readonly lost: readonly string[];
  /** Number of arrivals beyond the first per event: of all events, and of the event with the most arrivals. */
  readonly repeats: number;
  readonly maxRepeats: number;
  /** Deliveries in the log, by status. */
  readonly logged: Readonly<Record<string, number>>;
  /**
   * Feed of the workspace: number of events about resources; of positions up to the last one without an event; and of
   * events with the position of another one.
   */
  readonly feed: { readonly resources: number; readonly gaps: number; readonly repeated: number };
}

/** A workspace with one webhook for created resources, at a receiver that counts arrivals. */
export interface Watched {
  readonly account: Account;
  readonly client: ApiClient;
  readonly workspaceId: string;
  /** Waits until events of this many resources have arrived. */
  waitForArrivals(count: number): Promise<void>;
  /** Waits until the event of each resource has arrived and no delivery is in progress; then counts. */
  tally(ids: readonly string[], timeoutMs?: number): Promise<Tally>;
}

/** Maximum concurrent attempts per webhook, and so the maximum number of repeats after a kill. */
export const inFlightLimit = 32;

export async function watchWorkspace(shape: Shape, receiver: Receiver, db: pg.Pool): Promise<Watched> {
  const account = await newAccount({ shape, contract: await readContract(shape.liveUrl) });
  const client = await account.client('live', 'admin');
  const { path } = await subscribe(client, receiver, ['resource.created']);
  const { workspaceId } = account;
  /** Number of arrivals per resource id. */
  const arrivals = () => {
    const counts = new Map<string, number>();
    for (const request of receiver.requests) {
      if (request.path !== path) continue;
      const { id } = (request.json as Envelope).data.object;
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return counts;
  };
  const numbers = async (sql: string) => (await db.query(sql, [workspaceId])).rows;
  const countPending = async () => (await numbers('select from webhooks.deliveries where workspace_id = $1')).length;

  return {
    account,
    client,
    workspaceId,
    async waitForArrivals(count) {
      await waitUntil(() => arrivals().size >= count, { what: `${count} arrivals` });
    },
    async tally(ids, timeoutMs = 120_000) {
      const lost = () => {
        const counts = arrivals();
        return ids.filter((id) => !counts.has(id));
      };
      // On a timeout, the returned counts show the missing events.
      await waitUntil(async () => lost().length === 0 && (await countPending()) === 0, {
        what: 'all events',
        timeoutMs,
        everyMs: 100,
      }).catch(() => {});
      const counts = [...arrivals().values()];
      const logged = await numbers(
        'select status, count(*)::int from webhooks.delivery_log where workspace_id = $1 group by status',
      );
      const [feed] = await numbers(
        `select count(*) filter (where type like 'resource.%')::int as resources,
                coalesce(max(position), 0)::int - count(*)::int as gaps,
                count(*)::int - count(distinct position)::int as repeated
           from webhooks.events where workspace_id = $1`,
      );
      return {
        lost: lost(),
        repeats: counts.reduce((sum, count) => sum + count - 1, 0),
        maxRepeats: Math.max(0, ...counts) - 1,
        logged: Object.fromEntries(logged.map(({ status, count }) => [status, count])),
        feed,
      };
    },
  };
}

/**
 * Returns the expected tally after any kill: nothing lost, everything delivered, a feed without gaps or duplicates.
 */
export function whole(count: number) {
  return { lost: [], logged: { delivered: count }, feed: { resources: count, gaps: 0, repeated: 0 } };
}
