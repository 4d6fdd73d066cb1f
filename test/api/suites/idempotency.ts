import { perSuite } from '@rms/testkit';
import { expectStatus } from '../support/api-client.ts';
import type { ErrorBody, One, Page, Resource, Webhook } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';

export function idempotencySuite(target: () => Target): void {
  describe('Idempotency', () => {
    const account = perSuite(() => newAccount(target()));
    const client = perSuite(() => account.client('live', 'admin'));

    const total = async (path: string) => (await client.get<Page<unknown>>(path)).body.meta.total;
    const create = (idempotencyKey: string, body: object = { name: 'Once', metadata: { a: '1', b: '2' } }) =>
      client.post<One<Resource>>('/v1/resources', body, { idempotencyKey });
    const subscription = { url: 'https://example.com/hook', events: ['resource.created'] };

    test('a POST that reuses an Idempotency-Key returns the same result and does not repeat the operation', async () => {
      const first = expectStatus(await create('order-1'), 201);
      const before = await total('/v1/resources');
      const again = await create('order-1');
      expect([again.status, again.text]).toEqual([201, first.text]);
      expect(again.headers['idempotency-replayed']).toBe('true');
      expect(first.headers['idempotency-replayed']).toBeUndefined();
      expect(await total('/v1/resources')).toBe(before);
    });

    test('the result is that of the first request even after the resource was changed or deleted', async () => {
      const first = expectStatus(await create('order-2'), 201);
      const path = `/v1/resources/${first.body.data.id}`;
      expectStatus(await client.patch(path, { name: 'Changed' }), 200);
      expect((await create('order-2')).text).toBe(first.text);
      expectStatus(await client.delete(path), 204);
      expect((await create('order-2')).text).toBe(first.text);
      expect((await client.get(path)).status).toBe(404);
    });

    test('twenty concurrent POSTs with one Idempotency-Key create one resource and return one result', async () => {
      const before = await total('/v1/resources');
      const responses = await Promise.all(Array.from({ length: 20 }, () => create('order-3')));
      expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(201));
      expect(new Set(responses.map(({ text }) => text)).size).toBe(1);
      expect(responses.filter(({ headers }) => headers['idempotency-replayed'] === undefined)).toHaveLength(1);
      expect(await total('/v1/resources')).toBe(before + 1);
    });

    test('the same Idempotency-Key with a different body gets 422', async () => {
      expectStatus(await create('order-4'), 201);
      const before = await total('/v1/resources');
      for (const body of [{ name: 'Other' }, { name: 'Once' }, { name: 'Once', metadata: { a: '1' } }]) {
        const response = (await create('order-4', body)) as unknown as { status: number; body: ErrorBody };
        expect([response.status, response.body.error.code]).toEqual([422, 'idempotency_key_reused']);
      }
      expect(await total('/v1/resources')).toBe(before);
    });

    test('field order and explicit defaults do not make the body different', async () => {
      const first = expectStatus(await create('order-5'), 201);
      const again = await create('order-5', { metadata: { b: '2', a: '1' }, type: 'standard', name: 'Once' });
      expect([again.status, again.text]).toEqual([201, first.text]);
    });

    test('an Idempotency-Key is scoped to its environment, workspace and endpoint', async () => {
      const first = expectStatus(await create('order-6'), 201);
      const sandbox = await account.client('test', 'admin');
      const outsider = await (await newAccount(target())).client('live', 'admin');
      for (const other of [sandbox, outsider]) {
        const response = await other.post<One<Resource>>(
          '/v1/resources',
          { name: 'Other' },
          { idempotencyKey: 'order-6' },
        );
        expect(expectStatus(response, 201).body.data.id).not.toBe(first.body.data.id);
      }
      const webhook = await client.post<One<Webhook>>('/v1/webhooks', subscription, { idempotencyKey: 'order-6' });
      expect(webhook.status).toBe(201);
    });

    test('two API keys of the same workspace and environment share Idempotency-Keys', async () => {
      const first = expectStatus(await create('order-7'), 201);
      const { key } = await account.newKey('live', 'write');
      const body = { name: 'Once', metadata: { a: '1', b: '2' } };
      const again = await client.post('/v1/resources', body, { key, idempotencyKey: 'order-7' });
      expect(again.text).toBe(first.text);
    });

    test('a rejected request does not use up its Idempotency-Key', async () => {
      expect((await create('order-8', { name: '' })).status).toBe(400);
      expect((await create('order-8')).status).toBe(201);
    });

    test('an Idempotency-Key has 1 to 255 printable characters', async () => {
      expect((await create('k'.repeat(255))).status).toBe(201);
      expect((await create('!~ a')).status).toBe(201);
      for (const key of ['k'.repeat(256), '', 'tab\there', 'caf\u00e9']) {
        expect([key, (await create(key)).status]).toEqual([key, 400]);
      }
    });

    test('concurrent creates of a webhook with one Idempotency-Key make one webhook with one secret', async () => {
      const before = await total('/v1/webhooks');
      const responses = await Promise.all(
        Array.from({ length: 20 }, () =>
          client.post<One<Webhook>>('/v1/webhooks', subscription, { idempotencyKey: 'hook-1' }),
        ),
      );
      expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(201));
      expect(new Set(responses.map(({ text }) => text)).size).toBe(1);
      expect(responses[0]?.body.data.secret).toMatch(/^whsec_/);
      expect(await total('/v1/webhooks')).toBe(before + 1);
      const other = { ...subscription, events: ['*'] };
      const reused = await client.post<ErrorBody>('/v1/webhooks', other, { idempotencyKey: 'hook-1' });
      expect([reused.status, reused.body.error.code]).toEqual([422, 'idempotency_key_reused']);
    });

    test('a POST without an Idempotency-Key is never treated as a repeat', async () => {
      const [a, b] = await Promise.all([
        client.post<One<Resource>>('/v1/resources', { name: 'Twin' }),
        client.post<One<Resource>>('/v1/resources', { name: 'Twin' }),
      ]);
      expect(a.body.data.id).not.toBe(b.body.data.id);
    });
  });
}
