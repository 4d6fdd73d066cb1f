import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { perSuite, startHostileReceiver, waitUntil } from '@rms/testkit';
import { laneOf, newTenant, retries, startWebhooks, type Tenant } from '../support.ts';
import { wholeLogOf } from '../whole-log.ts';

const resources = 8;
const eventsOfResource = 30;
const kills = 3;
const poisonRetries = 50;

describe('a receiver that is repeatedly killed and restarted during a stream of events', () => {
  const rms = perSuite(startWebhooks);
  const receiver = perSuite(startHostileReceiver);

  const subscribe = async (tenant: Tenant, path: string, ordered: boolean) => {
    const retryPolicy = retries(poisonRetries, 20, 100);
    const { id, secret } = await rms.subscribe(tenant, receiver.url(path), { ordered, retryPolicy });
    await receiver.expectSecret(path, secret);
    return id;
  };
  /** Counts per event how often it was read, and how often it was read again after a 200 response. */
  const countsOf = (path: string) => {
    const counts = new Map<string, { reads: number; afterResponse: number }>();
    const responded = new Set<string>();
    const paths = new Map<number, string>();
    for (const record of receiver.records()) {
      // Request numbers restart at each start.
      if (record.kind === 'start') paths.clear();
      else if (record.kind === 'responded' && paths.get(record.request) === path) responded.add(record.eventId);
      else if (record.kind === 'read') {
        paths.set(record.request, record.path);
        if (record.path !== path) continue;
        const { reads, afterResponse } = counts.get(record.eventId) ?? { reads: 0, afterResponse: 0 };
        const again = responded.has(record.eventId) ? 1 : 0;
        counts.set(record.eventId, { reads: reads + 1, afterResponse: afterResponse + again });
      }
    }
    return counts;
  };

  test('gets every event, again only if it did not return 200, and in order per resource if ordered', async () => {
    const tenant = newTenant();
    const plain = await subscribe(tenant, '/plain', false);
    const ordered = await subscribe(tenant, '/ordered', true);
    const lanes = Array.from({ length: resources }, () => laneOf(tenant, eventsOfResource));
    const poison = lanes[0]?.[2]?.id ?? '';
    await receiver.behave('/plain', { kind: 'respond', afterMs: 10 });
    const refused = { eventIds: [poison], status: 400 };
    await receiver.behave('/ordered', { kind: 'respond', afterMs: 2, refused });

    const read = () => receiver.records().filter(({ kind }) => kind === 'read').length;
    const stream = async () => {
      for (let i = 0; i < eventsOfResource; i += 1) {
        const before = read();
        await rms.publish(...lanes.flatMap((lane) => lane[i] ?? []));
        // Publishes the next events after a request for these has arrived, also after a kill.
        await waitUntil(() => read() > before, { what: 'a request' });
      }
    };
    const killNowAndThen = async () => {
      for (let i = 1; i <= kills; i += 1) {
        const enough = (i * resources * eventsOfResource) / (kills + 1);
        await waitUntil(() => read() > enough, { what: 'requests before a kill', everyMs: 1 });
        await receiver.kill();
        await waitUntil(async () => (await rms.list(tenant, { status: DeliveryStatus.RETRYING })).length > 0, {
          what: 'failed attempts',
        });
        await receiver.restart();
      }
    };
    await Promise.all([stream(), killNowAndThen()]);
    const count = resources * eventsOfResource;
    const log = await wholeLogOf(rms, tenant, 2 * count);

    for (const id of [plain, ordered]) {
      const failed = log.filter(({ webhookId, status }) => webhookId === id && status !== DeliveryStatus.DELIVERED);
      expect(failed.map(({ eventId }) => eventId)).toEqual(id === ordered ? [poison] : []);
    }
    for (const path of ['/plain', '/ordered']) {
      const counts = countsOf(path);
      // No event is lost.
      expect(counts.size).toBe(count);
      // Only requests cut off by a kill are repeated.
      expect([...counts.values()].filter(({ afterResponse }) => afterResponse > 0)).toEqual([]);
      expect(receiver.requests(path).filter(({ verified }) => !verified)).toEqual([]);
    }
    const inOrder = receiver.requests('/ordered').map(({ eventId }) => eventId);
    for (const lane of lanes) {
      const positions = inOrder
        .map((id) => lane.findIndex((event) => event.id === id))
        .filter((position) => position >= 0);
      expect(positions).toEqual([...positions].sort((a, b) => a - b));
    }
    const attempts = log.find(({ webhookId, eventId }) => webhookId === ordered && eventId === poison)?.attempts;
    expect(attempts).toHaveLength(poisonRetries + 1);
  });
});
