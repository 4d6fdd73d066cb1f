import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { createClient, createRpcSecurity } from '@rms/rpc';
import { readSettings } from '@rms/service';
import { describeWith, type Network, type Receiver, startNetwork, startReceiver } from '@rms/testkit';
import { openSettings } from '../api/suites/all.ts';
import { expectStatus } from '../api/support/api-client.ts';
import type { FeedPage, One, Resource } from '../api/support/api-types.ts';
import { readContract } from '../api/support/openapi-contract.ts';
import { newAccount } from '../api/support/shape.ts';
import { subscribe } from '../api/support/subscriber.ts';

const silent = { info() {}, warn() {}, error() {} };

describeWith(['redis', 'kafka'], 'Services that know one another by certificates', () => {
  let network: Network;
  let receiver: Receiver;
  beforeAll(async () => {
    network = await startNetwork({ env: openSettings, mutualTls: true });
    receiver = await startReceiver({ path: '' });
  }, 120_000);
  afterAll(async () => {
    await receiver?.close();
    await network?.stop();
  }, 60_000);

  const as = (name: string) => createRpcSecurity(readSettings(network.identity(name)), silent);

  test('serve the API, deliver events, and obey the rms command', async () => {
    const account = await newAccount({ shape: network, contract: await readContract(network.liveUrl) });
    const client = await account.client('live', 'admin');
    const subscriber = await subscribe(client, receiver);
    const made = await client.post<One<Resource>>('/v1/resources', { name: 'Over TLS' });
    const { id } = expectStatus(made, 201).body.data;
    await subscriber.waitForEventsOf(id, 1);
    const { data } = expectStatus(await client.get<FeedPage>('/v1/events'), 200).body;
    expect(data.map((event) => event.data?.object.id)).toEqual([id]);
  });

  test('refuse what a caller has no business with: the certificate of the gateway makes no keys', async () => {
    const { AUTH_ADDRESS: auth = '', WEBHOOKS_ADDRESS: webhooks = '' } = network.env;
    const gateway = { timeoutMs: 5_000, security: as('gateway') };
    const keys = createClient(KeysService, { target: auth, ...gateway });
    const workspaces = createClient(WorkspacesService, { target: auth, ...gateway });
    const deliveries = createClient(DeliveriesService, { target: webhooks, ...gateway });
    const events = createClient(EventsService, { target: webhooks, ...gateway });
    for (const call of [
      keys.createKey({ name: 'mine' }),
      keys.listKeys({}),
      workspaces.listWorkspaces({}),
      deliveries.listDeliveries({ pageSize: 1 }),
      deliveries.getReplay({ id: 'rpl_x' }),
      events.watchEvents({ workspaceId: 'ws_x' })[Symbol.asyncIterator]().next(),
    ]) {
      await expect(call).rejects.toMatchObject({
        message: expect.stringContaining('may not call'),
      });
    }
    expect((await keys.batchVerifyKeys({})).results).toEqual([]);
    for (const client of [keys, workspaces, deliveries, events]) client.close();
  });

  test('refuse who has no certificate', async () => {
    const keys = createClient(KeysService, { target: network.env.AUTH_ADDRESS ?? '', timeoutMs: 2_000 });
    await expect(keys.listKeys({})).rejects.toMatchObject({ code: 'service_unavailable' });
    keys.close();
  });
});
