import { perSuite, startReceiver, waitUntil } from '@rms/testkit';
import { type ApiClient, expectStatus } from '../support/api-client.ts';
import type {
  ApiKey,
  AuditEntry,
  ErrorBody,
  FeedEvent,
  FeedPage,
  One,
  Page,
  Resource,
  Webhook,
} from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';
import { type Subscriber, subscribe } from '../support/subscriber.ts';

export function isolationSuite(target: () => Target): void {
  describe('Isolation', () => {
    let owner: ApiClient;
    let outsiders: [string, ApiClient][];
    let resource: Resource;
    let webhook: Omit<Webhook, 'health'>;
    let subscriber: Subscriber;

    const receiver = perSuite(() => startReceiver({ path: '' }));
    beforeAll(async () => {
      const account = await newAccount(target());
      const other = await newAccount(target());
      owner = await account.client('live', 'admin');
      outsiders = [
        ['the sandbox of the same workspace', await account.client('test', 'admin')],
        ['another workspace', await other.client('live', 'admin')],
        ['the sandbox of another workspace', await other.client('test', 'admin')],
      ];
      subscriber = await subscribe(owner, receiver);
      const { secret: _, health: _health, ...rest } = subscriber.webhook;
      webhook = rest;
      const answer = await owner.post<One<Resource>>('/v1/resources', { name: 'Private', metadata: { a: '1' } });
      resource = expectStatus(answer, 201).body.data;
    });

    test('no endpoint returns or changes a resource of another environment or workspace', async () => {
      const path = `/v1/resources/${resource.id}`;
      for (const [who, outsider] of outsiders) {
        const answers = [
          await outsider.get<ErrorBody>(path),
          await outsider.patch<ErrorBody>(path, { name: 'Taken' }),
          await outsider.delete<ErrorBody>(path),
        ];
        for (const { status, body } of answers) {
          expect([who, status, body.error.code]).toEqual([who, 404, 'not_found']);
        }
        const list = (await outsider.get<Page<Resource>>('/v1/resources')).body;
        expect([who, list.data, list.meta.total]).toEqual([who, [], 0]);
      }
      expect((await owner.get<One<Resource>>(path)).body.data).toEqual(resource);
      expect((await owner.get<Page<Resource>>('/v1/resources')).body.meta.total).toBe(1);
    });

    test('no endpoint returns or changes a webhook of another environment or workspace', async () => {
      const path = `/v1/webhooks/${webhook.id}`;
      const newest = async () => (await owner.get<Page<{ id: string }>>('/v1/events')).body.data[0];
      const event = await waitUntil(newest, { what: 'an event' });
      for (const [who, outsider] of outsiders) {
        const answers = [
          await outsider.get<ErrorBody>(path),
          await outsider.patch<ErrorBody>(path, { status: 'disabled' }),
          await outsider.delete<ErrorBody>(path),
          await outsider.post<ErrorBody>(`${path}/pause`, {}),
          await outsider.post<ErrorBody>(`${path}/resume`, {}),
          await outsider.post<ErrorBody>(`${path}/rotate_secret`, {}),
          await outsider.post<ErrorBody>(`${path}/test`, {}),
          await outsider.put<ErrorBody>(`${path}/client_certificate`, { certificate: 'c', private_key: 'k' }),
          await outsider.delete<ErrorBody>(`${path}/client_certificate`),
        ];
        for (const { status, body } of answers) {
          expect([who, status, body.error.code]).toEqual([who, 404, 'not_found']);
        }
        const list = (await outsider.get<Page<Webhook>>('/v1/webhooks')).body;
        expect([who, list.data, list.meta.total]).toEqual([who, [], 0]);
        const filterTest = { filter: { all: [{ field: 'name', op: 'exists' }] }, event_id: event.id };
        expect([who, (await outsider.post('/v1/webhooks/filter_test', filterTest)).status]).toEqual([who, 404]);
        for (const filter of [`url=${encodeURIComponent(webhook.url)}`, 'status=active', 'health=healthy']) {
          const { data } = (await outsider.get<Page<Webhook>>(`/v1/webhooks?${filter}`)).body;
          expect([who, filter, data]).toEqual([who, filter, []]);
        }
      }
      const { health: _, ...unchanged } = (await owner.get<One<Webhook>>(path)).body.data;
      expect(unchanged).toEqual(webhook);
    });

    test('no endpoint returns or changes a key of another environment or workspace', async () => {
      const made = await owner.post<One<ApiKey>>('/v1/api_keys', { name: 'Private', scope: 'read' });
      const { key, id } = expectStatus(made, 201).body.data;
      const path = `/v1/api_keys/${id}`;
      const before = (await owner.get(path)).body;
      for (const [who, outsider] of outsiders) {
        const answers = [
          await outsider.get<ErrorBody>(path),
          await outsider.patch<ErrorBody>(path, { name: 'Taken' }),
          await outsider.post<ErrorBody>(`${path}/roll`, {}),
          await outsider.delete<ErrorBody>(path),
        ];
        for (const { status, body } of answers) {
          expect([who, status, body.error.code]).toEqual([who, 404, 'not_found']);
        }
        const { data } = (await outsider.get<Page<ApiKey>>('/v1/api_keys?per_page=100')).body;
        expect([who, data.filter((one) => one.id === id)]).toEqual([who, []]);
      }
      expect((await owner.get(path)).body).toEqual(before);
      expect((await owner.get('/v1/resources', { key: key ?? null })).status).toBe(200);
    });

    test('no endpoint returns audit entries or the workspace of another environment or workspace', async () => {
      const workspace = async (by: ApiClient) =>
        (await by.get<One<{ id: string; environment: string }>>('/v1/workspace')).body.data;
      const own = await workspace(owner);
      for (const [who, outsider] of outsiders) {
        const { id, environment } = await workspace(outsider);
        expect([who, id === own.id && environment === own.environment]).toEqual([who, false]);
        for (const query of [`target_id=${webhook.id}`, 'action=webhook.', `target_id=${own.id}`]) {
          const { data } = (await outsider.get<Page<AuditEntry>>(`/v1/audit_log?${query}`)).body;
          // The workspace's creation concerns both of its environments.
          const foreign = data.filter((entry) => entry.environment === 'live' || id !== own.id);
          expect([who, query, foreign]).toEqual([who, query, []]);
        }
      }
    });

    test('no endpoint returns an event of another environment or workspace', async () => {
      await subscriber.waitForEventsOf(resource.id, 1);
      const owners = (await owner.get<FeedPage>('/v1/events')).body;
      const isAboutResource = ({ type }: FeedEvent) => type.startsWith('resource.');
      expect(owners.data.filter(isAboutResource).map(({ data }) => data?.object)).toEqual([
        { ...resource, input_type: 'standard', version: 1 },
      ]);
      for (const [who, outsider] of outsiders) {
        const { data, meta } = (await outsider.get<FeedPage>('/v1/events')).body;
        const ids = new Set(owners.data.map(({ id }) => id));
        expect([who, data.filter((event) => isAboutResource(event) || ids.has(event.id))]).toEqual([who, []]);
        const { status, body } = await outsider.get<ErrorBody>(`/v1/events?after=${meta.newest_sequence + 100}`);
        expect([who, status, body.error.details?.[0]?.field]).toEqual([who, 400, 'after']);
      }
    });

    test('no endpoint returns or changes an alert channel or rule of another environment or workspace', async () => {
      const body = { type: 'pagerduty', name: 'Private', routing_key: 'key-of-the-owner' };
      const { id } = expectStatus(await owner.post<One<{ id: string }>>('/v1/alert_channels', body), 201).body.data;
      const [path, rule] = [`/v1/alert_channels/${id}`, '/v1/alert_rules/quota'];
      const read = async () => [(await owner.get(path)).body, (await owner.get(rule)).body];
      const before = await read();
      for (const [who, outsider] of outsiders) {
        const answers = [
          await outsider.get<ErrorBody>(path),
          await outsider.patch<ErrorBody>(path, { name: 'Taken' }),
          await outsider.post<ErrorBody>(`${path}/test`, undefined),
          await outsider.delete<ErrorBody>(path),
        ];
        for (const { status, body } of answers) {
          expect([who, status, body.error.code]).toEqual([who, 404, 'not_found']);
        }
        expect([who, (await outsider.put<ErrorBody>(rule, { channels: [id] })).status]).toEqual([who, 400]);
        expectStatus(await outsider.put(rule, { threshold: 0.5 }), 200);
        const { data } = (await outsider.get<Page<{ id: string }>>('/v1/alert_channels')).body;
        expect([who, data]).toEqual([who, []]);
      }
      expect(await read()).toEqual(before);
    });

    test('every endpoint of the API was tested with another workspace and environment', () => {
      const tried = [
        'GET /v1/events',
        'POST /v1/webhooks/filter_test',
        'POST /v1/webhooks/{id}/pause',
        'POST /v1/webhooks/{id}/resume',
        'POST /v1/webhooks/{id}/rotate_secret',
        'POST /v1/webhooks/{id}/test',
        ...['PUT', 'DELETE'].map((method) => `${method} /v1/webhooks/{id}/client_certificate`),
        'POST /v1/api_keys/{id}/roll',
        'GET /v1/workspace',
        'GET /v1/audit_log',
        // Tested by the suites of deliveries and requests.
        'GET /v1/events/{id}',
        'GET /v1/deliveries',
        'GET /v1/deliveries/{id}',
        'POST /v1/deliveries/{id}/redeliver',
        'POST /v1/deliveries/{id}/cancel',
        'POST /v1/replays',
        'GET /v1/replays',
        'GET /v1/replays/{id}',
        'POST /v1/replays/{id}/cancel',
        'GET /v1/requests',
        'GET /v1/requests/{request_id}',
        // Tested by the suite of metrics.
        'GET /v1/metrics/requests',
        'GET /v1/metrics/deliveries',
        ...['GET', 'POST'].map((method) => `${method} /v1/alert_channels`),
        ...['GET', 'PATCH', 'DELETE'].map((method) => `${method} /v1/alert_channels/{id}`),
        'POST /v1/alert_channels/{id}/test',
        ...['GET', 'PATCH', 'DELETE'].map((method) => `${method} /v1/members/{id}`),
        ...['GET', 'DELETE'].map((method) => `${method} /v1/invitations/{id}`),
        ...['GET', 'POST'].map((method) => `${method} /v1/invitations`),
        'GET /v1/members',
        'GET /v1/alert_rules',
        'GET /v1/alert_rules/{kind}',
        'PUT /v1/alert_rules/{kind}',
        // Tested by the portal's suite.
        'POST /v1/portal_sessions',
        // Tested by test/faults/rpc.
        'POST /v1/alert_rules/{kind}/test',
        'GET /v1/incidents',
        'GET /v1/incidents/{id}',
        'POST /v1/incidents/{id}/acknowledge',
        'POST /v1/incidents/{id}/mute',
      ];
      const methods = ['POST', 'GET', 'PATCH', 'DELETE'];
      const onBoth = methods.flatMap((method) =>
        ['/v1/resources', '/v1/webhooks', '/v1/api_keys'].flatMap((path) =>
          method === 'POST'
            ? [`POST ${path}`]
            : method === 'GET'
              ? [`GET ${path}`, `GET ${path}/{id}`]
              : [`${method} ${path}/{id}`],
        ),
      );
      expect([...target().contract.operations].filter((name) => name.includes(' /v1/')).sort()).toEqual(
        [...tried, ...onBoth].sort(),
      );
    });

    test('no list accepts a cursor of another environment, workspace or list', async () => {
      expectStatus(await owner.post<One<Resource>>('/v1/resources', { name: 'Second' }), 201);
      await subscribe(owner, receiver);
      for (const path of ['/v1/resources', '/v1/webhooks', '/v1/api_keys', '/v1/audit_log', '/v1/alert_rules']) {
        const { links } = (await owner.get<Page<unknown>>(`${path}?per_page=1`)).body;
        const cursor = new URL(links.next ?? '').searchParams.get('cursor') ?? '';
        const other = path === '/v1/webhooks' ? '/v1/resources' : '/v1/webhooks';
        const refused = [await owner.get<ErrorBody>(`${other}?per_page=1&cursor=${cursor}`)];
        for (const [, outsider] of outsiders) {
          refused.push(await outsider.get<ErrorBody>(`${path}?per_page=1&cursor=${cursor}`));
        }
        for (const { status, body } of refused)
          expect([status, body.error.details?.[0]?.field]).toEqual([400, 'cursor']);
      }
    });

    test('an Idempotency-Key used in another workspace or environment counts as new, on both create endpoints', async () => {
      const requests = {
        '/v1/resources': { name: 'Once' },
        '/v1/webhooks': { url: 'https://example.com/hook', events: ['resource.deleted'] },
      };
      for (const [path, request] of Object.entries(requests)) {
        const idempotencyKey = `isolated ${path}`;
        const made = [];
        for (const client of [owner, ...outsiders.map(([, outsider]) => outsider)]) {
          const answer = await client.post<One<Webhook>>(path, request, { idempotencyKey });
          expect(answer.headers['idempotency-replayed']).toBeUndefined();
          made.push(expectStatus(answer, 201).body.data);
        }
        expect(new Set(made.map(({ id }) => id)).size).toBe(made.length);
        if (path === '/v1/webhooks') expect(new Set(made.map(({ secret }) => secret)).size).toBe(made.length);
      }
    });

    test('a webhook receives no events of another environment or workspace', async () => {
      for (const [, outsider] of outsiders) {
        const witness = await subscribe(outsider, receiver);
        const made = await outsider.post<One<Resource>>('/v1/resources', { name: 'Not yours' });
        await witness.waitForEventsOf(expectStatus(made, 201).body.data.id, 1);
      }
      const mark = expectStatus(await owner.post<One<Resource>>('/v1/resources', { name: 'Mark' }), 201).body.data;
      await subscriber.waitForEventsOf(mark.id, 1);
      expect(subscriber.received().map(({ envelope }) => envelope.data.object.name)).not.toContain('Not yours');
    });
  });
}
