import { readFileSync } from 'node:fs';
import {
  keyMay,
  keyPermissions,
  may,
  mayChangeRole,
  permissions,
  permissionsOf,
  permissionsToCreateKey,
  permits,
  permitsOfScope,
  type Role,
  roles,
  scopes,
} from '../../src/roles/index.ts';

describe('roles', () => {
  test('each role has the permissions of the previous role, and more', () => {
    roles.slice(1).forEach((role, i) => {
      const before = permissionsOf(roles[i]);
      expect(permissionsOf(role)).toEqual(expect.arrayContaining(before));
      expect(permissionsOf(role).length).toBeGreaterThan(before.length);
    });
    expect(permissionsOf('owner')).toEqual(permissions);
  });

  test('a viewer has no write permissions', () => {
    expect(permissionsOf('viewer').filter((permission) => !permission.endsWith(':read'))).toEqual([]);
    expect(may('viewer', 'keys:read')).toBe(false);
    expect(may('viewer', 'audit:read')).toBe(false);
  });

  test('a developer can change resources but not members', () => {
    for (const permission of ['resources:write', 'webhooks:write', 'deliveries:write', 'keys:write'] as const) {
      expect(may('developer', permission)).toBe(true);
    }
    expect(may('developer', 'members:write')).toBe(false);
    expect(may('developer', 'alerts:write')).toBe(false);
  });

  test('a non-member has no permissions', () => {
    expect(permissionsOf(undefined)).toEqual([]);
    expect(mayChangeRole(undefined, 'viewer', 'developer')).toBe(false);
  });

  test.each<[Role, Role | undefined, Role | undefined, boolean]>([
    ['owner', 'owner', undefined, true],
    ['owner', undefined, 'owner', true],
    ['owner', 'owner', 'viewer', true],
    ['admin', undefined, 'admin', true],
    ['admin', 'admin', 'viewer', true],
    ['admin', 'admin', undefined, true],
    ['admin', undefined, 'owner', false],
    ['admin', 'admin', 'owner', false],
    ['admin', 'owner', 'viewer', false],
    ['admin', 'owner', undefined, false],
    ['developer', undefined, 'viewer', false],
    ['viewer', 'viewer', undefined, false],
  ])('a member with role %s may change role %s to %s: %s', (actor, from, to, allowed) => {
    expect(mayChangeRole(actor, from, to)).toBe(allowed);
  });

  test('the scopes together permit what API keys may do, each in one of them', () => {
    const texts = scopes.flatMap(permitsOfScope);
    expect(new Set(texts).size).toBe(texts.length);
    for (const permission of permissions) {
      const isWritten = permissions.some((other) => other === permission.replace(/:read$/, ':write'));
      const named = permission.endsWith(':read') && isWritten ? permission.replace(/:read$/, ':write') : permission;
      // Of a scope with both permissions, the text about reading is left out.
      expect(texts.includes(permits(named as typeof permission))).toBe(
        keyMay({ scope: 'admin', permissions: [] }, permission),
      );
    }
  });

  test('a user cannot create a key with more than the role permits', () => {
    for (const role of roles) {
      const mayCreate = (grant: Parameters<typeof permissionsToCreateKey>[0]) =>
        permissionsToCreateKey(grant).every((permission) => may(role, permission));
      const grants = [
        ...scopes.map((scope) => ({ scope, permissions: [] })),
        ...keyPermissions.map((permission) => ({ scope: 'restricted' as const, permissions: [permission] })),
      ];
      for (const grant of grants.filter(mayCreate)) {
        const exceeding = permissions.filter((permission) => keyMay(grant, permission) && !may(role, permission));
        expect([role, grant, exceeding]).toEqual([role, grant, []]);
      }
    }
  });

  test('the API guide has a row for every permission of a restricted key', () => {
    const guide = readFileSync(new URL('../../../../docs/api-guide.md', import.meta.url), 'utf8');
    const rows = guide.split('\n').filter((line) => /^\| `\w+:\w+` \|/.test(line));
    expect(rows).toEqual(keyPermissions.map((permission) => `| \`${permission}\` | ${permits(permission)} |`));
  });
});
