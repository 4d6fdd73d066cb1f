import { type Receiver, startReceiver, waitUntil } from '@rms/testkit';
import { type ApiClient, expectStatus } from '../support/api-client.ts';
import { type Account, newAccount, type Target } from '../support/shape.ts';
import { retryFast, subscribe } from '../support/subscriber.ts';

interface Incident {
  readonly kind: string;
  readonly environment: string;
  readonly subject_id: string;
  readonly state: string;
  readonly notices: number;
}

export function alertsSuite(target: () => Target): void {
  describe('Alerts', () => {
    let account: Account;
    let client: ApiClient;
    let receiver: Receiver;
    beforeAll(async () => {
      account = await newAccount(target());
      client = await account.client('test', 'admin');
      receiver = await startReceiver({ path: '' });
    });
    afterAll(() => receiver?.close());

    const incident = (state: string) =>
      waitUntil(
        async () => {
          const { data } = await account.rms<{ data: Incident[] }>('alerts', 'list', '--state', state);
          return data.find(({ kind }) => kind === 'delivery_failures_in_a_row');
        },
        { what: `an incident that is ${state}`, timeoutMs: 40_000 },
      );

    test('a webhook that keeps failing opens one alert, which recovers when deliveries arrive again', async () => {
      receiver.respondWith(500);
      const { webhook } = await subscribe(client, receiver, ['resource.created']);
      await retryFast(account, webhook.id, 3);
      expectStatus(await client.post('/v1/resources', { name: 'Lost' }), 201);
      const about = { environment: 'test', subject_id: webhook.id, notices: 1 };
      expect(await incident('open')).toMatchObject(about);
      receiver.respondWith(200);
      expectStatus(await client.post('/v1/resources', { name: 'Found' }), 201);
      expect(await incident('recovered')).toMatchObject(about);
    });

    test('each workspace has alert rules in both environments from the start', async () => {
      const { data } = await account.rms<{ data: { kind: string; environment: string; enabled: boolean }[] }>(
        'alerts',
        'rules',
      );
      const kinds = data.filter(({ enabled }) => enabled).map(({ kind, environment }) => `${environment} ${kind}`);
      expect(new Set(kinds).size).toBe(14);
      for (const environment of ['live', 'test']) {
        for (const kind of ['api_error_rate', 'webhook_disabled', 'quota', 'rate_limited', 'key_expiry']) {
          expect(kinds).toContain(`${environment} ${kind}`);
        }
      }
    });
  });
}
