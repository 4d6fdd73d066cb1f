import { waitUntil } from '@rms/testkit';
import type { ApiClient } from '../../api/support/api-client.ts';
import { expectStatus } from '../../api/support/api-client.ts';
import type { Environment, One, Page, Resource, Webhook } from '../../api/support/api-types.ts';
import type { Stage } from './stage.ts';
import { type Created, startTraffic, type Traffic, type TrafficOptions } from './traffic.ts';

/** Traffic in both environments of a new workspace, with events that go to sinks in the cluster. */
export interface WatchedLoad {
  start(options: Pick<TrafficOptions, 'keptConnections' | 'newConnections' | 'retries'>): Traffic;
  /** Waits until each of these resources is listed and its event has arrived with a valid signature. */
  expectNothingLost(created: readonly Created[]): Promise<void>;
  /** Deletes the webhooks. */
  close(): Promise<void>;
}

const environments = ['live', 'test'] as const;
const arrivalTimeoutMs = 120_000;

export async function prepareLoad({ ingress, newAccount, tools }: Stage, name: string): Promise<WatchedLoad> {
  const account = await newAccount();
  const sides = await Promise.all(
    environments.map(async (environment) => {
      const { key } = await account.newKey(environment, 'admin');
      const client = account.clientWith(environment, key);
      const sink = `${name}-${environment}`;
      const body = { url: tools.sinkUrl(sink), events: ['resource.created'] };
      const webhook = expectStatus(await client.post<One<Webhook>>('/v1/webhooks', body), 201).body.data;
      await tools.openSink(sink, webhook.secret ?? '');
      return { environment, key, client, sink, webhook, host: ingress.hosts[environment] };
    }),
  );
  return {
    start: (options) => startTraffic({ ...options, ingressUrl: ingress.url, targets: sides }),
    async expectNothingLost(created) {
      for (const { environment, client, sink } of sides) {
        const ids = idsOf(created, environment);
        const listed = await listedIds(client);
        expect(ids.filter((id) => !listed.has(id))).toEqual([]);
        const missing = async () => {
          const { arrivals } = await tools.readSink(sink);
          return ids.filter((id) => !arrivals.has(id));
        };
        // On a timeout, the assertion below reports the missing ids.
        await waitUntil(async () => (await missing()).length === 0, {
          what: 'all events',
          timeoutMs: arrivalTimeoutMs,
          everyMs: 500,
        }).catch(() => {});
        expect(await missing()).toEqual([]);
        expect((await tools.readSink(sink)).wrongSignatures).toBe(0);
      }
    },
    async close() {
      for (const { client, webhook } of sides) await client.delete(`/v1/webhooks/${webhook.id}`);
    },
  };
}

function idsOf(created: readonly Created[], environment: Environment): string[] {
  return created.filter((one) => one.environment === environment).map(({ id }) => id);
}

async function listedIds(client: ApiClient): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let next: string | null = '/v1/resources?per_page=100'; next !== null; ) {
    const page: Page<Resource> = expectStatus(await client.get<Page<Resource>>(next), 200).body;
    for (const { id } of page.data) ids.add(id);
    next = page.links.next;
  }
  return ids;
}
