import { type Network, type Receiver, waitUntil } from '@rms/testkit';
import type pg from 'pg';
import type { ApiClient } from '../api/support/api-client.ts';
import type { Envelope } from '../api/support/api-types.ts';
import { readContract } from '../api/support/openapi-contract.ts';
import { type Account, newAccount } from '../api/support/shape.ts';
import { subscribe } from '../api/support/subscriber.ts';

/** What became of the events of a run, once nothing is under way any more. */
export interface Tally {
  /** Resources whose event has not arrived. */
  readonly lost: readonly string[];
  /** Arrivals beyond the first of each event, all together, and of the event that arrived most. */
  readonly repeats: number;
  readonly mostRepeats: number;
  /** Deliveries in the log, by status. */
  readonly logged: Readonly<Record<string, number>>;
  /** Whether the feed counts every event once, from 1, without a gap. */
  readonly feed: { readonly events: number; readonly places: number; readonly last: number };
}

/** A workspace with one webhook for created resources, at a receiver that counts. */
export interface Watched {
  readonly account: Account;
  readonly client: ApiClient;
  readonly workspaceId: string;
  /** Waits until the events of so many resources have arrived. */
  waitForArrivals(count: number): Promise<void>;
  /** Waits until the event of each of these resources has arrived and nothing is under way; then counts. */
  tally(ids: readonly string[], timeoutMs?: number): Promise<Tally>;
}

/** Attempts of one webhook that an instance of webhooks has under way at most: what it repeats when it is killed. */
export const inFlightLimit = 32;

export async function watchWorkspace(network: Network, receiver: Receiver, db: pg.Pool): Promise<Watched> {
  const account = await newAccount({ shape: network, contract: await readContract(network.liveUrl) });
  const client = await account.client('live', 'admin');
  const { path } = await subscribe(client, receiver, ['resource.created']);
  const { workspaceId } = account;
  /** How often the event of each resource has arrived, by its id. */
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
  const underWay = async () => (await numbers('select from webhooks.deliveries where workspace_id = $1')).length;

  return {
    account,
    client,
    workspaceId,
    async waitForArrivals(count) {
      await waitUntil(() => arrivals().size >= count, { what: `${count} arrivals`, timeoutMs: 60_000 });
    },
    async tally(ids, timeoutMs = 60_000) {
      const lost = () => {
        const counts = arrivals();
        return ids.filter((id) => !counts.has(id));
      };
      // What is missing is told by the count, not by a time that is up.
      await waitUntil(async () => lost().length === 0 && (await underWay()) === 0, {
        what: 'all events',
        timeoutMs,
        everyMs: 100,
      }).catch(() => {});
      const counts = [...arrivals().values()];
      const logged = await numbers(
        'select status, count(*)::int from webhooks.delivery_log where workspace_id = $1 group by status',
      );
      const [feed] = await numbers(
        `select count(*)::int as events, count(distinct position)::int as places, coalesce(max(position), 0)::int as last
           from webhooks.events where workspace_id = $1`,
      );
      return {
        lost: lost(),
        repeats: counts.reduce((sum, count) => sum + count - 1, 0),
        mostRepeats: Math.max(0, ...counts) - 1,
        logged: Object.fromEntries(logged.map(({ status, count }) => [status, count])),
        feed,
      };
    },
  };
}

/** What holds whatever was killed: nothing lost, everything delivered in the end, a feed without gaps and doubles. */
export function whole(count: number) {
  return { lost: [], logged: { delivered: count }, feed: { events: count, places: count, last: count } };
}
