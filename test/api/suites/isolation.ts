import { type Receiver, startReceiver } from '@rms/testkit';
import { type ApiClient, expectStatus } from '../support/api-client.ts';
import type { ErrorBody, One, Page, Resource, Webhook } from '../support/api-types.ts';
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
