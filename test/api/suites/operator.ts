import { expectStatus } from '../support/api-client.ts';
import type { DeliveryList, One, Webhook } from '../support/api-types.ts';
import { type Account, newAccount, type Target } from '../support/shape.ts';

export function operatorSuite(target: () => Target): void {
  describe('Operator', () => {
    let account: Account;
    beforeAll(async () => {
      account = await newAccount(target());
    });

    test('/livez and /readyz return 200 without a key on both listeners', async () => {
      for (const environment of ['live', 'test'] as const) {
        const client = account.clientWith(environment, 'none');
        for (const path of ['/livez', '/readyz']) expect((await client.get(path, { key: null })).status).toBe(200);
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
