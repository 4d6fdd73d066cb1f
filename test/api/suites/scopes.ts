import { perSuite } from '@rms/testkit';
import { expectStatus } from '../support/api-client.ts';
import type { ApiKey, ErrorBody, One, Resource, Scope, Webhook } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';

/** A call per permission and kind of object. Unknown objects get 404 after the permission check. */
const calls = [
  ['resources:read', 'GET', '/v1/resources'],
  ['resources:read', 'GET', '/v1/resources/res_x'],
  ['resources:write', 'DELETE', '/v1/resources/res_x'],
  ['events:read', 'GET', '/v1/events'],
  ['events:read', 'GET', '/v1/events/evt_x'],
  ['webhooks:read', 'GET', '/v1/webhooks'],
  ['webhooks:read', 'GET', '/v1/webhooks/wh_x'],
  ['webhooks:write', 'DELETE', '/v1/webhooks/wh_x'],
  ['webhooks:write', 'POST', '/v1/webhooks/filter_test'],
  ['webhooks:write', 'POST', '/v1/portal_sessions'],
  ['webhooks:write', 'POST', '/v1/webhooks/wh_x/pause'],
  ['webhooks:write', 'POST', '/v1/webhooks/wh_x/resume'],
  ['webhooks:write', 'POST', '/v1/webhooks/wh_x/rotate_secret'],
  ['webhooks:write', 'PUT', '/v1/webhooks/wh_x/client_certificate'],
  ['webhooks:write', 'DELETE', '/v1/webhooks/wh_x/client_certificate'],
  ['deliveries:read', 'GET', '/v1/deliveries'],
  ['deliveries:read', 'GET', '/v1/deliveries/dlv_x'],
  ['deliveries:read', 'GET', '/v1/replays'],
  ['deliveries:write', 'POST', '/v1/deliveries/dlv_x/redeliver'],
  ['deliveries:write', 'POST', '/v1/deliveries/dlv_x/cancel'],
  ['deliveries:write', 'POST', '/v1/replays/rpl_x/cancel'],
  ['deliveries:write', 'POST', '/v1/webhooks/wh_x/test'],
  ['requests:read', 'GET', '/v1/requests'],
  ['requests:read', 'GET', '/v1/requests/req_x'],
  ['metrics:read', 'GET', '/v1/metrics/requests?from=2026-01-01T00:00:00Z'],
  ['metrics:read', 'GET', '/v1/metrics/deliveries?from=2026-01-01T00:00:00Z'],
  ['keys:read', 'GET', '/v1/api_keys'],
  ['keys:read', 'GET', '/v1/api_keys/key_x'],
  ['alerts:read', 'GET', '/v1/alert_rules'],
  ['alerts:read', 'GET', '/v1/alert_channels'],
  ['alerts:read', 'GET', '/v1/incidents'],
  ['alerts:write', 'DELETE', '/v1/alert_channels/chn_x'],
  ['alerts:write', 'POST', '/v1/incidents/inc_x/acknowledge'],
  ['audit:read', 'GET', '/v1/audit_log'],
  ['workspace:read', 'GET', '/v1/workspace'],
  ['admin', 'GET', '/v1/members'],
  ['admin', 'PATCH', '/v1/members/usr_x'],
  ['admin', 'DELETE', '/v1/members/usr_x'],
  ['admin', 'GET', '/v1/invitations/inv_x'],
  ['admin', 'POST', '/v1/invitations'],
  ['admin', 'POST', '/v1/api_keys'],
  ['admin', 'PATCH', '/v1/api_keys/key_x'],
  ['admin', 'DELETE', '/v1/api_keys/key_x'],
  ['admin', 'POST', '/v1/api_keys/key_x/roll'],
] as const;
const permissions = [...new Set(calls.map(([permission]) => permission))].filter((name) => name !== 'admin');

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

    const restricted = async (...permissions: string[]) => {
      const admin = await account.client('live', 'admin');
      const body = { name: 'restricted', scope: 'restricted', permissions };
      const created = expectStatus(await admin.post<One<ApiKey>>('/v1/api_keys', body), 201).body.data;
      expect(created).toMatchObject({ scope: 'restricted', permissions: [...permissions].sort() });
      return { ...created, client: account.clientWith('live', created.key ?? '') };
    };

    test('a restricted key can call the endpoints of its permissions and no others', async () => {
      for (const permission of permissions) {
        const { client } = await restricted(permission);
        for (const [required, method, path] of calls) {
          const { status } = await client.send(method, path, {});
          const includes = [required, required.replace(':read', ':write')].includes(permission);
          expect([permission, method, path, status === 403]).toEqual([permission, method, path, !includes]);
        }
      }
    });

    test('a 403 for a restricted key names the permission that is required', async () => {
      const { client } = await restricted('events:read', 'deliveries:read');
      expect((await client.get<ErrorBody>('/v1/requests')).body.error).toEqual({
        code: 'insufficient_scope',
        message: 'Permission `requests:read` is required; this key has `deliveries:read`, `events:read`.',
        status: 403,
      });
      expect((await client.post<ErrorBody>('/v1/api_keys', {})).body.error.message).toBe(
        'Permission `keys:write` is required; this key has `deliveries:read`, `events:read`.',
      );
    });

    test('a rolled restricted key keeps its permissions', async () => {
      const admin = await account.client('live', 'admin');
      const { id } = await restricted('webhooks:read');
      const next = expectStatus(await admin.post<One<ApiKey>>(`/v1/api_keys/${id}/roll`, {}), 201).body.data;
      expect(next).toMatchObject({ scope: 'restricted', permissions: ['webhooks:read'] });
      const client = account.clientWith('live', next.key ?? '');
      expect((await client.get('/v1/webhooks')).status).toBe(200);
      expect((await client.get('/v1/resources')).status).toBe(403);
    });

    test('a restricted key needs known permissions, and no other key has any', async () => {
      const admin = await account.client('live', 'admin');
      for (const [body, field] of [
        [{ scope: 'restricted' }, 'permissions'],
        [{ scope: 'restricted', permissions: [] }, 'permissions'],
        [{ scope: 'restricted', permissions: ['keys:write'] }, 'permissions.0'],
        [{ scope: 'restricted', permissions: ['webhooks:read', 'all'] }, 'permissions.1'],
        [{ scope: 'admin', permissions: ['webhooks:read'] }, 'permissions'],
      ] as const) {
        const { error } = expectStatus(
          await admin.post<ErrorBody>('/v1/api_keys', { name: 'wrong', ...body }),
          400,
        ).body;
        expect(error.details?.map((detail) => detail.field)).toEqual([field]);
      }
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
