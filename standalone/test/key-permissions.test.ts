import { endpoints } from '../../packages/api/src/index.ts';
import {
  type KeyGrant,
  keyMay,
  keyPermissions,
  leastScopeFor,
  may,
  permissionsToCreateKey,
  type Role,
  roles,
  scopes,
} from '../../packages/base/src/roles/index.ts';

const keys: KeyGrant[] = [
  ...scopes.map((scope): KeyGrant => ({ scope, permissions: [] })),
  ...keyPermissions.map((permission): KeyGrant => ({ scope: 'restricted', permissions: [permission] })),
];
const nameOf = ({ scope, permissions }: KeyGrant) => [scope, ...permissions].join(' ');

test.each(keys.flatMap((key) => roles.map((role): [string, Role, KeyGrant] => [nameOf(key), role, key])))(
  'with a key that is %s, a user with the role %s can do nothing that the role does not permit',
  (_, role, key) => {
    if (!permissionsToCreateKey(key).every((permission) => may(role, permission))) return;
    const denied = endpoints
      .filter(({ permission }) => keyMay(key, permission) && !may(role, permission))
      .map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    expect(denied).toEqual([]);
  },
);

test.each(keyPermissions)('an endpoint requires the permission %s', (permission) => {
  expect(endpoints.map((endpoint) => endpoint.permission)).toContain(permission);
});

test('every endpoint can be called with a key of scope admin', () => {
  expect(endpoints.filter(({ permission }) => leastScopeFor(permission) === undefined)).toEqual([]);
});
