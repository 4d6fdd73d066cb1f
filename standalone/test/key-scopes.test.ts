import { may, type Permission, permissionToCreateKey, type Role, roles } from '../../packages/roles/src/index.ts';
import { endpoints } from '../../services/gateway/src/routes/endpoints.ts';

/** The permission that the dashboard requires for what each endpoint of the API does. */
const permissionOf: Readonly<Record<string, Permission>> = {
  'GET /v1/resources': 'resources.read',
  'GET /v1/resources/{id}': 'resources.read',
  'GET /v1/events': 'webhooks.read',
  'GET /v1/events/{id}': 'webhooks.read',
  'POST /v1/resources': 'resources.write',
  'PATCH /v1/resources/{id}': 'resources.write',
  'DELETE /v1/resources/{id}': 'resources.write',
  'GET /v1/webhooks': 'webhooks.read',
  'GET /v1/webhooks/{id}': 'webhooks.read',
  'POST /v1/webhooks': 'webhooks.write',
  'PATCH /v1/webhooks/{id}': 'webhooks.write',
  'DELETE /v1/webhooks/{id}': 'webhooks.write',
  'POST /v1/webhooks/{id}/rotate_secret': 'webhooks.write',
  'POST /v1/webhooks/{id}/test': 'deliveries.send',
  'GET /v1/deliveries': 'deliveries.read',
  'GET /v1/deliveries/{id}': 'deliveries.read',
  'POST /v1/deliveries/{id}/redeliver': 'deliveries.send',
  'POST /v1/deliveries/{id}/cancel': 'deliveries.send',
  'GET /v1/replays': 'deliveries.read',
  'GET /v1/replays/{id}': 'deliveries.read',
  'POST /v1/replays': 'deliveries.send',
  'POST /v1/replays/{id}/cancel': 'deliveries.send',
  'GET /v1/api_keys': 'keys.read',
  'GET /v1/api_keys/{id}': 'keys.read',
  'POST /v1/api_keys': 'keys.admin',
  'PATCH /v1/api_keys/{id}': 'keys.write',
  'DELETE /v1/api_keys/{id}': 'keys.write',
  'POST /v1/api_keys/{id}/roll': 'keys.admin',
  'GET /v1/requests': 'requests.read',
  'GET /v1/requests/{request_id}': 'requests.read',
  'GET /v1/workspace': 'limits.read',
  'GET /v1/audit_log': 'audit.read',
};

const scopes = ['read', 'write', 'admin'] as const;

test('every endpoint has a permission', () => {
  expect(endpoints.map(({ method, path }) => `${method.toUpperCase()} ${path}`).sort()).toEqual(
    Object.keys(permissionOf).sort(),
  );
});

test.each(scopes.flatMap((scope) => roles.map((role): [(typeof scopes)[number], Role] => [scope, role])))(
  'with a key of scope %s, a user with the role %s can do nothing that the role does not permit',
  (scope, role) => {
    if (!may(role, permissionToCreateKey(scope))) return;
    const usable = endpoints.filter((endpoint) => scopes.indexOf(endpoint.scope) <= scopes.indexOf(scope));
    const denied = usable
      .map(({ method, path }) => `${method.toUpperCase()} ${path}`)
      .filter((name) => !may(role, permissionOf[name] as Permission));
    expect(denied).toEqual([]);
  },
);
