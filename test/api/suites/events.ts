import { createHmac } from 'node:crypto';
import { perSuite, startReceiver } from '@rms/testkit';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { expectStatus } from '../support/api-client.ts';
import { type One, type Resource, timestampForm } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';
import { type Subscriber, subscribe } from '../support/subscriber.ts';

export function eventsSuite(target: () => Target): void {
  describe('Events', () => {
    const account = perSuite(() => newAccount(target()));
    const client = perSuite(() => account.client('live', 'admin'));
    const receiver = perSuite(() => startReceiver({ path: '' }));
    const all = perSuite(() => subscribe(client, receiver));

    const create = async (body: object = { name: 'Observed' }) =>
      expectStatus(await client.post<One<Resource>>('/v1/resources', body), 201).body.data;

    /** Sends a PATCH, then a DELETE. Returns the event types that the PATCH emitted. */
    const typesOfPatch = async (body: object) => {
      const { id } = await create({ name: 'Before', metadata: { a: '1' } });
      expectStatus(await client.patch(`/v1/resources/${id}`, body), 200);
      // Events of a resource arrive in order, so everything before resource.deleted came from the PATCH.
      expectStatus(await client.delete(`/v1/resources/${id}`), 204);
      for (let count = 2; ; count++) {
        const types = (await all.waitForEventsOf(id, count)).map(({ envelope }) => envelope.type);
        if (types.includes('resource.deleted') && types.length >= count) {
          return types.filter((type) => type !== 'resource.created' && type !== 'resource.deleted');
        }
      }
    };

    test('POST emits resource.created', async () => {
      const created = await create();
      const [event] = await all.waitForEventsOf(created.id, 1);
      expect(event?.envelope.type).toBe('resource.created');
      expect(event?.envelope.data).toEqual({ object: { ...created, input_type: 'standard', version: 1 } });
    });

    test('a PATCH of attributes emits resource.updated only', async () => {
      expect(await typesOfPatch({ name: 'After' })).toEqual(['resource.updated']);
      expect(await typesOfPatch({ metadata: { b: '2' } })).toEqual(['resource.updated']);
      expect(await typesOfPatch({ name: 'After', metadata: {} })).toEqual(['resource.updated']);
    });

    test('a PATCH that changes the status emits resource.updated and resource.status_changed', async () => {
      const both = ['resource.status_changed', 'resource.updated'];
      expect((await typesOfPatch({ status: 'inactive' })).sort()).toEqual(both);
      expect((await typesOfPatch({ status: 'archived', name: 'After' })).sort()).toEqual(both);
    });

    test('a PATCH with the status that the resource already has emits no resource.status_changed', async () => {
      expect(await typesOfPatch({ status: 'active', name: 'After' })).toEqual(['resource.updated']);
    });

    test('a PATCH that changes nothing emits no events', async () => {
      expect(await typesOfPatch({})).toEqual([]);
      expect(await typesOfPatch({ name: 'Before', status: 'active', metadata: { a: '1' } })).toEqual([]);
    });

    test('DELETE emits resource.deleted with the last state', async () => {
      const { id } = await create({ name: 'Short-lived', metadata: { a: '1' } });
      const patched = await client.patch<One<Resource>>(`/v1/resources/${id}`, { status: 'archived' });
      expectStatus(await client.delete(`/v1/resources/${id}`), 204);
      const events = await all.waitForEventsOf(id, 4);
      const deleted = events.filter(({ envelope }) => envelope.type === 'resource.deleted');
      expect(deleted).toHaveLength(1);
      const updatedAt = patched.body.data.updated_at;
      expect(deleted[0]?.envelope.data).toEqual({
        object: {
          ...patched.body.data,
          input_type: 'standard',
          updated_at: expect.stringMatching(timestampForm),
          version: 4,
        },
      });
      expect((deleted[0]?.envelope.data.object.updated_at ?? '') > updatedAt).toBe(true);
    });

    test('rejected requests and idempotent repeats emit no events', async () => {
      const before = await create({ name: 'Mark before' });
      await client.post('/v1/resources', { name: '' });
      const once = await client.post<One<Resource>>('/v1/resources', { name: 'Once' }, { idempotencyKey: 'e-1' });
      for (let i = 0; i < 3; i++) await client.post('/v1/resources', { name: 'Once' }, { idempotencyKey: 'e-1' });
      await client.post('/v1/resources', { name: 'Twice' }, { idempotencyKey: 'e-1' });
      await client.patch(`/v1/resources/${before.id}`, { status: 'gone' });
      expectStatus(await client.delete(`/v1/resources/${once.body.data.id}`), 204);
      const events = await all.waitForEventsOf(once.body.data.id, 2);
      expect(events.map(({ envelope }) => envelope.type).sort()).toEqual(['resource.created', 'resource.deleted']);
      const after = await create({ name: 'Mark after' });
      await all.waitForEventsOf(after.id, 1);
      const names = all.received().map(({ envelope }) => envelope.data.object.name);
      expect(names).not.toContain('Twice');
      expect(names).not.toContain('');
    });

    test('the envelope has id, type, created_at and data.object with the complete resource', async () => {
      const created = await create({ name: 'Enveloped', metadata: { k: 'v' } });
      const [event] = await all.waitForEventsOf(created.id, 1);
      expect(event?.envelope).toEqual({
        id: expect.stringMatching(/^evt_[0-9a-z]+$/),
        type: 'resource.created',
        created_at: expect.stringMatching(timestampForm),
        data: { object: { ...created, input_type: 'standard', version: 1 } },
      });
    });

    test('updated and status_changed contain the previous attributes', async () => {
      const created = await create({ name: 'Old', metadata: { a: '1' } });
      const body = { name: 'New', status: 'inactive', metadata: { b: '2' } };
      const changed = (await client.patch<One<Resource>>(`/v1/resources/${created.id}`, body)).body.data;
      const events = await all.waitForEventsOf(created.id, 3);
      const dataOf = (type: string) => events.find(({ envelope }) => envelope.type === type)?.envelope.data;
      expect(dataOf('resource.updated')?.object).toEqual({ ...changed, input_type: 'standard', version: 2 });
      expect(dataOf('resource.updated')?.previous_attributes).toMatchObject({
        name: 'Old',
        status: 'active',
        metadata: { a: '1' },
      });
      expect(dataOf('resource.status_changed')?.object).toEqual({ ...changed, input_type: 'standard', version: 3 });
      expect(dataOf('resource.status_changed')?.previous_attributes).toMatchObject({ status: 'active' });
    });

    test('the version in data.object counts the events of the resource; the ETag begins with the last one', async () => {
      const created = await client.post<One<Resource>>('/v1/resources', { name: 'Versioned' });
      const { id } = created.body.data;
      const changed = await client.patch<One<Resource>>(`/v1/resources/${id}`, { status: 'inactive' });
      expectStatus(await client.delete(`/v1/resources/${id}`), 204);
      const events = await all.waitForEventsOf(id, 4);
      const versions = events.map(({ envelope }) => [envelope.data.object.version, envelope.type]).sort();
      expect(versions).toEqual([
        [1, 'resource.created'],
        [2, 'resource.updated'],
        [3, 'resource.status_changed'],
        [4, 'resource.deleted'],
      ]);
      expect([created.headers.etag, changed.headers.etag]).toEqual([
        expect.stringMatching(/^"1\./),
        expect.stringMatching(/^"3\./),
      ]);
    });

    test('every event has a unique id, the same for all webhooks', async () => {
      const second = await subscribe(client, receiver);
      const { id } = await create();
      expectStatus(await client.patch(`/v1/resources/${id}`, { status: 'archived' }), 200);
      const first = (await all.waitForEventsOf(id, 3)).map(({ envelope }) => envelope.id);
      const other = (await second.waitForEventsOf(id, 3)).map(({ envelope }) => envelope.id);
      expect(new Set(first).size).toBe(3);
      expect(other.sort()).toEqual(first.sort());
    });

    test('a delivery is an HTTP POST of the envelope as JSON', async () => {
      const { id } = await create();
      const [event] = await all.waitForEventsOf(id, 1);
      const request = receiver.requests.find(({ body }) => body.equals(event?.raw ?? Buffer.alloc(0)));
      expect(request?.method).toBe('POST');
      expect(event?.headers['content-type']).toMatch(/^application\/json\b/);
    });

    test('X-Service-Signature is the lowercase hex HMAC-SHA256 of the raw body, keyed with the webhook secret', async () => {
      const created = await create({
        name: 'Naïve “quotes” 資源 🎈 \u2028',
        metadata: { ключ: 'значение', e: '\u0007\\"' },
      });
      const [event] = await all.waitForEventsOf(created.id, 1);
      const expected = createHmac('sha256', all.secret)
        .update(event?.raw ?? '')
        .digest('hex');
      expect(event?.headers['x-service-signature']).toBe(expected);
      expect(event?.envelope.data.object).toEqual({ ...created, input_type: 'standard', version: 1 });
    });

    test('a Standard Webhooks verifier accepts the delivery and rejects a modified one', async () => {
      const { id } = await create({ name: 'Verified 🎈' });
      const [event] = await all.waitForEventsOf(id, 1);
      const verifier = new StandardWebhook(all.secret);
      const body = event?.raw.toString('utf8') ?? '';
      expect(verifier.verify(body, event?.headers ?? {})).toMatchObject({ type: 'resource.created' });
      expect(event?.headers['webhook-id']).toBe(event?.envelope.id);
      expect(() => verifier.verify(body.replace('Verified', 'Forged'), event?.headers ?? {})).toThrow();
    });

    test('the signatures of two webhooks differ', async () => {
      const other = await subscribe(client, receiver);
      const { id } = await create();
      const [mine] = await all.waitForEventsOf(id, 1);
      const [theirs] = await other.waitForEventsOf(id, 1);
      expect(mine?.raw.equals(theirs?.raw ?? Buffer.alloc(0))).toBe(true);
      expect(mine?.headers['x-service-signature']).not.toBe(theirs?.headers['x-service-signature']);
    });

    test('the X-Request-ID of the request that caused an event is in its delivery and in the log', async () => {
      const requestId = `trace-${Date.now()}-events`;
      const headers = { 'x-request-id': requestId };
      const created = await client.post<One<Resource>>('/v1/resources', { name: 'Traced' }, { headers });
      const [event] = await all.waitForEventsOf(created.body.data.id, 1);
      expect(event?.headers['x-request-id']).toBe(requestId);
      const trace = JSON.stringify(await account.rms('trace', requestId));
      expect(trace).toContain(event?.envelope.id);
      expect(trace).toContain(all.webhook.id);
    });

    test('a webhook receives the event types it subscribes to, or all with *', async () => {
      const deletions = await subscribe(client, receiver, ['resource.deleted']);
      const two = await subscribe(client, receiver, ['resource.created', 'resource.status_changed']);
      const { id } = await create();
      expectStatus(await client.patch(`/v1/resources/${id}`, { status: 'inactive' }), 200);
      expectStatus(await client.delete(`/v1/resources/${id}`), 204);
      await all.waitForEventsOf(id, 4);
      // Once each webhook has the last event of a second resource, no event of the first resource can be missing.
      const marker = await create();
      expectStatus(await client.patch(`/v1/resources/${marker.id}`, { status: 'archived' }), 200);
      expectStatus(await client.delete(`/v1/resources/${marker.id}`), 204);
      await two.waitForEventsOf(marker.id, 2);
      await deletions.waitForEventsOf(marker.id, 1);
      const types = async (subscriber: Subscriber, count: number) =>
        (await subscriber.waitForEventsOf(id, count)).map(({ envelope }) => envelope.type).sort();
      expect(await types(two, 2)).toEqual(['resource.created', 'resource.status_changed']);
      expect(await types(deletions, 1)).toEqual(['resource.deleted']);
      expect(await types(all, 4)).toEqual([
        'resource.created',
        'resource.deleted',
        'resource.status_changed',
        'resource.updated',
      ]);
    });

    test('a resource at every limit arrives complete at the receiver', async () => {
      const value = '🎈'.repeat(500);
      const metadata = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`${'k'.repeat(37)}-${i + 10}`, value]));
      const created = await create({ name: '資'.repeat(255), metadata });
      const [event] = await all.waitForEventsOf(created.id, 1);
      expect(event?.envelope.data.object).toEqual({ ...created, input_type: 'standard', version: 1 });
      expect(event?.headers['x-service-signature']).toBe(
        createHmac('sha256', all.secret)
          .update(event?.raw ?? '')
          .digest('hex'),
      );
    });

    test('every one of 200 concurrent creates is delivered', async () => {
      const subscriber = await subscribe(client, receiver, ['resource.created']);
      const ids = await Promise.all(Array.from({ length: 200 }, async (_, i) => (await create({ name: `n${i}` })).id));
      await subscriber.waitFor(200);
      expect(
        subscriber
          .received()
          .map(({ envelope }) => envelope.data.object.id)
          .sort(),
      ).toEqual(ids.sort());
    });
  });
}
