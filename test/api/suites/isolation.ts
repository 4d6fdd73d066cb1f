import { type Receiver, startReceiver } from '@rms/testkit';
import { type ApiClient, expectStatus } from '../support/api-client.ts';
import type { ErrorBody, FeedPage, One, Page, Resource, Webhook } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';
import { type Subscriber, subscribe } from '../support/subscriber.ts';

export function isolationSuite(target: () => Target): void {
  describe('Isolation', () => {
    let owner: ApiClient;
    let strangers: [string, ApiClient][];
    let resource: Resource;
    let webhook: Webhook;
    let receiver: Receiver;
    let subscriber: Subscriber;

    beforeAll(async () => {
      const account = await newAccount(target());
      const other = await newAccount(target());
      owner = await account.client('live', 'admin');
      strangers = [
        ['the sandbox of the same workspace', await account.client('test', 'admin')],
        ['another workspace', await other.client('live', 'admin')],
        ['the sandbox of another workspace', await other.client('test', 'admin')],
      ];
      receiver = await startReceiver({ path: '' });
      subscriber = await subscribe(owner, receiver);
      const { secret: _, ...rest } = subscriber.webhook;
      webhook = rest;
      const answer = await owner.post<One<Resource>>('/v1/resources', { name: 'Private', metadata: { a: '1' } });
      resource = expectStatus(answer, 201).body.data;
    });
    afterAll(() => receiver?.close());

    test('no endpoint shows or changes a resource of another environment or workspace', async () => {
      const path = `/v1/resources/${resource.id}`;
      for (const [who, stranger] of strangers) {
        const answers = [
          await stranger.get<ErrorBody>(path),
          await stranger.patch<ErrorBody>(path, { name: 'Taken' }),
          await stranger.delete<ErrorBody>(path),
        ];
        for (const { status, body } of answers) {
          expect([who, status, body.error.code]).toEqual([who, 404, 'not_found']);
        }
        const list = (await stranger.get<Page<Resource>>('/v1/resources')).body;
        expect([who, list.data, list.meta.total]).toEqual([who, [], 0]);
      }
      expect((await owner.get<One<Resource>>(path)).body.data).toEqual(resource);
      expect((await owner.get<Page<Resource>>('/v1/resources')).body.meta.total).toBe(1);
    });

    test('no endpoint shows or changes a webhook of another environment or workspace', async () => {
      const path = `/v1/webhooks/${webhook.id}`;
      for (const [who, stranger] of strangers) {
        const answers = [
          await stranger.get<ErrorBody>(path),
          await stranger.patch<ErrorBody>(path, { status: 'disabled' }),
          await stranger.delete<ErrorBody>(path),
        ];
        for (const { status, body } of answers) {
          expect([who, status, body.error.code]).toEqual([who, 404, 'not_found']);
        }
        const list = (await stranger.get<Page<Webhook>>('/v1/webhooks')).body;
        expect([who, list.data, list.meta.total]).toEqual([who, [], 0]);
      }
      expect((await owner.get<One<Webhook>>(path)).body.data).toEqual(webhook);
    });

    test('no endpoint shows an event of another environment or workspace', async () => {
      await subscriber.waitForEventsOf(resource.id, 1);
      const owners = (await owner.get<FeedPage>('/v1/events')).body;
      expect(owners.data.map(({ data }) => data?.object)).toEqual([resource]);
      for (const [who, stranger] of strangers) {
        const { data, meta } = (await stranger.get<FeedPage>('/v1/events')).body;
        expect([who, data, meta.total, meta.newest_sequence]).toEqual([who, [], 0, 0]);
        const { status, body } = await stranger.get<ErrorBody>(`/v1/events?after=${owners.meta.newest_sequence}`);
        expect([who, status, body.error.details?.[0]?.field]).toEqual([who, 400, 'after']);
      }
    });

    test('every endpoint of the API was tried on what belongs to somebody else', () => {
      const tried = ['GET /v1/events'];
      const methods = ['POST', 'GET', 'PATCH', 'DELETE'];
      const onBoth = methods.flatMap((method) =>
        ['/v1/resources', '/v1/webhooks'].flatMap((path) =>
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

    test('no list takes a cursor of another environment, workspace or list', async () => {
      for (const path of ['/v1/resources', '/v1/webhooks']) {
        if (path === '/v1/webhooks') await subscribe(owner, receiver);
        else expectStatus(await owner.post<One<Resource>>(path, { name: 'Second' }), 201);
        const { links } = (await owner.get<Page<unknown>>(`${path}?per_page=1`)).body;
        const cursor = new URL(links.next ?? '').searchParams.get('cursor') ?? '';
        const other = path === '/v1/webhooks' ? '/v1/resources' : '/v1/webhooks';
        const refused = [await owner.get<ErrorBody>(`${other}?per_page=1&cursor=${cursor}`)];
        for (const [, stranger] of strangers) {
          refused.push(await stranger.get<ErrorBody>(`${path}?per_page=1&cursor=${cursor}`));
        }
        for (const { status, body } of refused)
          expect([status, body.error.details?.[0]?.field]).toEqual([400, 'cursor']);
      }
    });

    test('an Idempotency-Key of somebody else is as good as a new one, on both endpoints that make something', async () => {
      const requests = {
        '/v1/resources': { name: 'Once' },
        '/v1/webhooks': { url: 'https://example.com/hook', events: ['resource.deleted'] },
      };
      for (const [path, request] of Object.entries(requests)) {
        const idempotencyKey = `isolated ${path}`;
        const made = [];
        for (const client of [owner, ...strangers.map(([, stranger]) => stranger)]) {
          const answer = await client.post<One<Webhook>>(path, request, { idempotencyKey });
          expect(answer.headers['idempotency-replayed']).toBeUndefined();
          made.push(expectStatus(answer, 201).body.data);
        }
        expect(new Set(made.map(({ id }) => id)).size).toBe(made.length);
        if (path === '/v1/webhooks') expect(new Set(made.map(({ secret }) => secret)).size).toBe(made.length);
      }
    });

    test('a webhook gets no events of another environment or workspace', async () => {
      for (const [, stranger] of strangers) {
        const witness = await subscribe(stranger, receiver);
        const made = await stranger.post<One<Resource>>('/v1/resources', { name: 'Not yours' });
        await witness.waitForEventsOf(expectStatus(made, 201).body.data.id, 1);
      }
      const mark = expectStatus(await owner.post<One<Resource>>('/v1/resources', { name: 'Mark' }), 201).body.data;
      await subscriber.waitForEventsOf(mark.id, 1);
      expect(subscriber.received().map(({ envelope }) => envelope.data.object.name)).not.toContain('Not yours');
    });
  });
}
