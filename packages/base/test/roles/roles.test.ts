import { may, mayChangeRole, permissions, permissionsOf, type Role, roles } from '../../src/roles/index.ts';

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
});
