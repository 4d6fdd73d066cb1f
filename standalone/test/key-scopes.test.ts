import { endpoints } from '../../packages/api/src/index.ts';
import { may, permissionToCreateKey, type Role, roles } from '../../packages/base/src/roles/index.ts';

const scopes = ['read', 'write', 'admin'] as const;

test.each(scopes.flatMap((scope) => roles.map((role): [(typeof scopes)[number], Role] => [scope, role])))(
  'with a key of scope %s, a user with the role %s can do nothing that the role does not permit',
  (scope, role) => {
    if (!may(role, permissionToCreateKey(scope))) return;
    const usable = endpoints.filter((endpoint) => scopes.indexOf(endpoint.scope) <= scopes.indexOf(scope));
    const denied = usable
      .filter(({ permission }) => !may(role, permission))
      .map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    expect(denied).toEqual([]);
  },
);
