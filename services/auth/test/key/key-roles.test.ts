import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { perSuite } from '@rms/testkit';
import { as, startAccounts, type TestUser } from '../user-support.ts';

const all = [Scope.READ, Scope.WRITE, Scope.ADMIN];
const environment = Environment.LIVE;

describe('Keys and the role of their creator', () => {
  let workspaceId: string;
  const auth = perSuite(startAccounts);
  beforeAll(async () => {
    workspaceId = await auth.newWorkspace();
  });

  test.each([
    ['viewer', Role.VIEWER, []],
    ['developer', Role.DEVELOPER, [Scope.READ, Scope.WRITE]],
    ['admin', Role.ADMIN, all],
    ['owner', Role.OWNER, all],
  ])(
    'a user with the role %s creates, changes and rolls only keys that the role permits',
    async (_, role, permitted) => {
      const user = await auth.newUser({ role, workspaceId });
      for (const scope of all) {
        const { id } = await auth.newKey({ workspaceId, scope });
        for (const call of [
          () => auth.keys.createKey({ workspaceId, environment, scope, name: 'by a user' }, as(user)),
          () => auth.keys.updateKey({ workspaceId, id, name: 'changed', allowedIps: { cidrs: [] } }, as(user)),
          () =>
            auth.keys.updateKey({ workspaceId, id, expiry: { time: timestampFromMs(Date.now() + 60_000) } }, as(user)),
          () => auth.keys.rollKey({ workspaceId, id }, as(user)),
        ]) {
          const outcome = await call().then(
            () => 'done',
            ({ code }) => code,
          );
          expect([scope, outcome]).toEqual([scope, permitted.includes(scope) ? 'done' : 'insufficient_role']);
        }
        // Without the permission to create the key, it is unchanged, and can still be revoked.
        const { key } = await auth.keys.getKey({ workspaceId, id });
        expect([key?.name === 'changed', key?.expireTime !== undefined]).toEqual(
          Array(2).fill(permitted.includes(scope)),
        );
        await auth.keys.revokeKey({ workspaceId, id }, as(user));
      }
    },
  );

  test.each([
    ['viewer', Role.VIEWER, []],
    ['developer', Role.DEVELOPER, ['deliveries:write', 'keys:read']],
    ['admin', Role.ADMIN, ['deliveries:write', 'keys:read', 'audit:read']],
  ])(
    'a user with the role %s creates only restricted keys with permissions of the role',
    async (_, role, permitted) => {
      const user = await auth.newUser({ role, workspaceId });
      for (const permission of ['deliveries:write', 'keys:read', 'audit:read']) {
        const request = { workspaceId, environment, permissions: [permission], name: 'restricted' };
        const outcome = await auth.keys.createKey(request, as(user)).then(
          ({ key }) => key?.permissions.join(),
          ({ code }) => code,
        );
        expect(outcome).toBe(permitted.includes(permission) ? permission : 'insufficient_role');
      }
    },
  );

  const newAdminKey = async (context?: { context: object }) => {
    const request = { workspaceId, environment, scope: Scope.ADMIN, name: 'admin' };
    const { key } = await auth.keys.createKey(request, context);
    return key?.id ?? '';
  };
  const byKey = (keyId: string) => ({
    context: { principal: { workspaceId, environment, keyId, scope: Scope.ADMIN } },
  });
  /** Returns the environments of entries that a key reads. */
  const readWith = async (keyId: string) => {
    const request = { workspaceId, environment, pageSize: 1_000 };
    const { entries } = await auth.audit.listAuditEntries(request, byKey(keyId));
    return new Set(entries.map((entry) => entry.environment));
  };
  const setRole = (user: TestUser, role: Role) => auth.members.updateMember({ workspaceId, userId: user.id, role });

  test('entries about users are read only with keys whose first creator may read the audit log', async () => {
    const user = await auth.newUser({ role: Role.ADMIN, workspaceId });
    const own = await newAdminKey(as(user));
    const made = await newAdminKey(byKey(await newAdminKey(byKey(own))));
    const ofOperator = await newAdminKey({ context: { actor: 'operator:alice@laptop' } });
    const ofService = await newAdminKey();
    const withUsers = new Set([Environment.LIVE, Environment.UNSPECIFIED]);
    for (const id of [own, made, ofOperator, ofService]) expect(await readWith(id)).toEqual(withUsers);

    await setRole(user, Role.DEVELOPER);
    for (const id of [own, made]) expect(await readWith(id)).toEqual(new Set([Environment.LIVE]));
    await setRole(user, Role.OWNER);
    expect(await readWith(made)).toEqual(withUsers);
    await auth.members.removeMember({ workspaceId, userId: user.id });
    expect(await readWith(made)).toEqual(new Set([Environment.LIVE]));

    await auth.db.query("update auth.keys set created_by = '' where id = $1", [ofOperator]);
    expect(await readWith(ofOperator)).toEqual(new Set([Environment.LIVE]));
  });
});
