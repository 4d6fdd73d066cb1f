import { perSuite, startReceiver, waitUntil } from '@rms/testkit';
import { expectStatus } from '../support/api-client.ts';
import { newAccount, type Target } from '../support/shape.ts';
import { retryFast, subscribe } from '../support/subscriber.ts';

interface Incident {
  readonly kind: string;
  readonly environment: string;
  readonly subject: { readonly id: string };
  readonly status: string;
  readonly end_reason: string | null;
  readonly notice_count: number;
}

export function alertsSuite(target: () => Target): void {
  describe('Alerts', () => {
    const account = perSuite(() => newAccount(target()));
    const client = perSuite(() => account.client('test', 'admin'));
    const receiver = perSuite(() => startReceiver({ path: '' }));

    const incident = (status: string, kind = 'delivery_failures_in_a_row', of = account) =>
      waitUntil(
        async () => {
          const { data } = await of.rms<{ data: Incident[] }>('alerts', 'list', '--status', status);
          return data.find((one) => one.kind === kind);
        },
        { what: `an incident with status ${status}` },
      );

    test('a webhook that keeps failing opens one alert, which recovers when deliveries succeed again', async () => {
      receiver.respondWith(500);
      const { webhook } = await subscribe(client, receiver, ['resource.created']);
      await retryFast(account, webhook.id, 3);
      expectStatus(await client.post('/v1/resources', { name: 'Lost' }), 201);
      const about = { environment: 'sandbox', subject: { id: webhook.id }, notice_count: 1 };
      expect(await incident('open')).toMatchObject(about);
      receiver.respondWith(200);
      expectStatus(await client.post('/v1/resources', { name: 'Found' }), 201);
      expect(await incident('closed')).toMatchObject({ ...about, end_reason: 'recovered' });
    });

    test('a webhook whose endpoint returns 410 opens an alert, which recovers when the webhook is enabled', async () => {
      const goneReceiver = await startReceiver({ path: '' });
      goneReceiver.respondWith(410);
      const { webhook } = await subscribe(client, goneReceiver, ['resource.deleted']);
      const created = await client.post<{ data: { id: string } }>('/v1/resources', { name: 'Short-lived' });
      expectStatus(await client.delete(`/v1/resources/${created.body.data.id}`), 204);
      const about = { environment: 'sandbox', subject: { id: webhook.id } };
      expect(await incident('open', 'webhook_disabled')).toMatchObject(about);
      goneReceiver.respondWith(200);
      await account.rms('webhooks', 'enable', webhook.id);
      expect(await incident('closed', 'webhook_disabled')).toMatchObject({ ...about, end_reason: 'recovered' });
      await goneReceiver.close();
    });

    test('failed and rate-limited requests open alerts in their environment only', async () => {
      const other = await newAccount(target());
      const live = await other.client('live', 'read');
      const all = (count: number, send: () => Promise<unknown>) => Promise.all(Array.from({ length: count }, send));
      await all(50, () => live.get('/v1/resources/res_00000000000000000000000000'));
      expect(await incident('open', 'api_error_rate', other)).toMatchObject({ environment: 'live', notice_count: 1 });
      const { key } = await other.newKey('test', 'read', '--rate-limit', '1');
      const limited = other.clientWith('test', key);
      await all(52, () => limited.get('/v1/resources'));
      expect(await incident('open', 'rate_limited', other)).toMatchObject({ environment: 'sandbox', notice_count: 1 });
      const { data } = await other.rms<{ data: Incident[] }>('alerts', 'list');
      expect(data.map(({ kind, environment }) => `${environment} ${kind}`).sort()).toEqual([
        'live api_error_rate',
        'sandbox rate_limited',
      ]);
    });

    test('the monthly quota opens an alert at 80 % and another when it is exceeded', async () => {
      const other = await newAccount(target());
      const { shape } = target();
      const plan = `small-${other.workspaceId.slice(-8)}`;
      await shape.rms('plans', 'set', plan, '--quota', '10');
      await shape.rms('workspaces', 'plan', other.workspaceId, '--plan', plan);
      const reader = await other.client('live', 'read');
      const quotaIncident = (subjectId: string) =>
        waitUntil(
          async () => {
            const { data } = await other.rms<{ data: Incident[] }>('alerts', 'list', '--status', 'open');
            return data.find(({ kind, subject }) => kind === 'quota' && subject.id === subjectId);
          },
          { what: `the quota incident ${subjectId}` },
        );
      for (let count = 0; count < 8; count += 1) expectStatus(await reader.get('/v1/resources'), 200);
      expect(await quotaIncident('warning')).toMatchObject({ environment: 'live', notice_count: 1 });
      for (let count = 0; count < 2; count += 1) expectStatus(await reader.get('/v1/resources'), 200);
      expect(await quotaIncident('exceeded')).toMatchObject({ environment: 'live', notice_count: 1 });
    });

    test('a new workspace has alert rules in both environments', async () => {
      const { data } = await account.rms<{ data: { kind: string; environment: string; enabled: boolean }[] }>(
        'alerts',
        'rules',
      );
      const kinds = data.filter(({ enabled }) => enabled).map(({ kind, environment }) => `${environment} ${kind}`);
      expect(new Set(kinds).size).toBe(14);
      for (const environment of ['live', 'sandbox']) {
        for (const kind of ['api_error_rate', 'webhook_disabled', 'quota', 'rate_limited', 'key_expiry']) {
          expect(kinds).toContain(`${environment} ${kind}`);
        }
      }
    });
  });
}
