import { perSuite } from '@rms/testkit';
import { expectStatus } from '../support/api-client.ts';
import type { ErrorBody, One, Resource, Scope, Webhook } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';

export function scopesSuite(target: () => Target): void {
  describe('Scopes', () => {
    const account = perSuite(() => newAccount(target()));

    /**
     * Calls every endpoint for resources and events on a new resource with a key of this scope; returns the status
     * codes.
     */
    const resourceStatuses = async (scope: Scope) => {
      const admin = await account.client('live', 'admin');
      const client = await account.client('live', scope);
      const created = expectStatus(await admin.post<One<Resource>>('/v1/resources', { name: 'for scopes' }), 201);
      const path = `/v1/resources/${created.body.data.id}`;
      return {
        list: (await client.get('/v1/resources')).status,
        events: (await client.get('/v1/events')).status,
        get: (await client.get(path)).status,
        create: (await client.post('/v1/resources', { name: 'by scope' })).status,
        update: (await client.patch(path, { name: 'changed' })).status,
        delete: (await client.delete(path)).status,
      };
    };

    const webhookStatuses = async (scope: Scope) => {
      const admin = await account.client('live', 'admin');
      const client = await account.client('live', scope);
      const subscription = { url: 'https://example.com/hook', events: ['*'] };
      const created = expectStatus(await admin.post<One<Webhook>>('/v1/webhooks', subscription), 201);
      const path = `/v1/webhooks/${created.body.data.id}`;
      return {
        list: (await client.get('/v1/webhooks')).status,
        get: (await client.get(path)).status,
        create: (await client.post('/v1/webhooks', subscription)).status,
        update: (await client.patch(path, { events: ['resource.created'] })).status,
        delete: (await client.delete(path)).status,
      };
    };
    const readable = { list: 200, events: 200, get: 200 };
    const all403 = { list: 403, get: 403, create: 403, update: 403, delete: 403 };

    test('a read key can only list and retrieve resources', async () => {
      expect(await resourceStatuses('read')).toEqual({ ...readable, create: 403, update: 403, delete: 403 });
      expect(await webhookStatuses('read')).toEqual(all403);
    });

    test('a write key can create, update and delete resources, but not manage webhooks', async () => {
      expect(await resourceStatuses('write')).toEqual({ ...readable, create: 201, update: 200, delete: 204 });
      expect(await webhookStatuses('write')).toEqual(all403);
    });

    test('an admin key can do everything, including managing webhooks', async () => {
      expect(await resourceStatuses('admin')).toEqual({ ...readable, create: 201, update: 200, delete: 204 });
      expect(await webhookStatuses('admin')).toEqual({ list: 200, get: 200, create: 201, update: 200, delete: 204 });
    });

    test('a key without the scope gets 403 insufficient_scope with exactly code, message and status', async () => {
      const client = await account.client('live', 'read');
      const response = await client.post<ErrorBody>('/v1/resources', { name: 'x' });
      expect(response.status).toBe(403);
      expect(response.body).toEqual({
        error: {
          code: 'insufficient_scope',
          message: 'Scope `write` is required; this key has `read`.',
          status: 403,
        },
      });
    });

    test('the scope is checked before the body and before the resource is looked up', async () => {
      const client = await account.client('live', 'read');
      expect((await client.send('POST', '/v1/resources', { raw: '{' })).status).toBe(403);
      expect((await client.delete('/v1/resources/res_unknown')).status).toBe(403);
    });

    test('a rejected write changes nothing', async () => {
      const admin = await account.client('test', 'admin');
      const reader = await account.client('test', 'read');
      const created = expectStatus(await admin.post<One<Resource>>('/v1/resources', { name: 'stays' }), 201).body.data;
      await reader.patch(`/v1/resources/${created.id}`, { name: 'changed' });
      await reader.delete(`/v1/resources/${created.id}`);
      expect((await admin.get<One<Resource>>(`/v1/resources/${created.id}`)).body.data).toEqual(created);
    });
  });
}
