import { perSuite } from '@rms/testkit';
import { type ApiClient, expectStatus } from '../support/api-client.ts';
import type { DeliveryList, ErrorBody, One, Webhook } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';

export function operatorSuite(target: () => Target): void {
  describe('Operator', () => {
    const account = perSuite(() => newAccount(target()));

    test('/healthz, /livez and /readyz return 200 without a key on both listeners', async () => {
      for (const environment of ['live', 'test'] as const) {
        const client = account.clientWith(environment, 'none');
        for (const path of ['/healthz', '/livez', '/readyz'])
          expect((await client.get(path, { key: null })).status).toBe(200);
      }
    });

    test('an empty delivery log is an empty list', async () => {
      expect(await account.rms<DeliveryList>('deliveries', 'list')).toEqual({ data: [] });
    });

    test('the command line reports an unknown id in one clear line', async () => {
      for (const command of [
        ['keys', 'revoke', `key_${'0'.repeat(26)}`],
        ['webhooks', 'disable', `wh_${'0'.repeat(26)}`],
        ['deliveries', 'redeliver', `dlv_${'0'.repeat(26)}`],
      ]) {
        const failure = await account.rms(...command).then(
          () => 'no failure',
          (error: Error) => error.message,
        );
        expect(failure).toMatch(/not found|no such|nothing|unknown|there is no/i);
        expect(failure).not.toMatch(/\n\s+at /);
      }
    });

    test('a deleted workspace: its keys return 401, and another workspace keeps its data', async () => {
      const { shape } = target();
      const deleted = await newAccount(target());
      const clients = [await deleted.client('live', 'admin'), await deleted.client('test', 'admin')];
      const kept = await account.client('live', 'admin');
      const create = async (client: ApiClient) =>
        expectStatus(await client.post<One<{ id: string }>>('/v1/resources', { name: 'thing' }), 201).body.data.id;
      const id = await create(kept);
      for (const client of clients) await create(client);
      const args = ['workspaces', 'delete', deleted.workspaceId, '--purge', '--confirm', 'Suite'];
      const { rows } = await shape.rms<{ rows: Record<string, number> }>(...args);
      expect(rows).toMatchObject({ 'auth.keys': 2, 'resources.resources': 2 });
      for (const client of clients) {
        const { error } = expectStatus(await client.get<ErrorBody>('/v1/resources'), 401).body;
        expect(error.code).toBe('invalid_api_key');
      }
      expectStatus(await kept.get(`/v1/resources/${id}`), 200);
    });

    test('the command line lists the webhooks of both environments', async () => {
      const ids: string[] = [];
      for (const environment of ['live', 'test'] as const) {
        const client = await account.client(environment, 'admin');
        const response = await client.post<One<Webhook>>('/v1/webhooks', {
          url: 'https://example.com/',
          events: ['*'],
        });
        ids.push(expectStatus(response, 201).body.data.id);
      }
      const listed = await account.rms<{ data: { id: string }[] }>('webhooks', 'list');
      expect(listed.data.map(({ id }) => id).sort()).toEqual(ids.sort());
    });
  });
}
