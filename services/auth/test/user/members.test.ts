import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { perSuite, perTest } from '@rms/testkit';
import { as, newEmail, startAccounts, type TestUser } from '../user-support.ts';

describe('Members', () => {
  let admin: TestUser;
  let developer: TestUser;
  let viewer: TestUser;
  let outsider: TestUser;
  let workspaceId: string;
  const accounts = perSuite(startAccounts);
  const owner = perTest(() => accounts.newUser());
  beforeEach(async () => {
    workspaceId = owner.workspaceId;
    admin = await accounts.newUser({ workspaceId, role: Role.ADMIN });
    developer = await accounts.newUser({ workspaceId, role: Role.DEVELOPER });
    viewer = await accounts.newUser({ workspaceId, role: Role.VIEWER });
    outsider = await accounts.newUser();
  });

  const roles = async () => {
    const { members } = await accounts.members.listMembers({ workspaceId });
    return Object.fromEntries(members.map(({ userId, role }) => [userId, role]));
  };
  const update = (by: TestUser | undefined, target: TestUser, role: Role) =>
    accounts.members.updateMember({ workspaceId, userId: target.id, role }, by && as(by));
  const remove = (by: TestUser | undefined, target: TestUser) =>
    accounts.members.removeMember({ workspaceId, userId: target.id }, by && as(by));

  test('every member can list all members, sorted by address; others cannot', async () => {
    for (const account of [owner, admin, developer, viewer]) {
      const { members } = await accounts.members.listMembers({ workspaceId }, as(account));
      expect(members.map(({ email }) => email)).toEqual(
        [owner, admin, developer, viewer].map(({ email }) => email).sort(),
      );
    }
    await expect(accounts.members.listMembers({ workspaceId }, as(outsider))).rejects.toMatchObject({
      code: 'insufficient_role',
    });
    const { members } = await accounts.members.listMembers({ workspaceId: 'ws_none' });
    expect(members).toEqual([]);
  });

  test('an API key acts with the present role of the user who created it, and at most as an admin', async () => {
    const keyOf = async (creator: string, by?: string) => {
      const context = by
        ? { principal: { workspaceId, environment: Environment.LIVE, keyId: by, scope: Scope.ADMIN } }
        : { actor: creator };
      const request = { workspaceId, environment: Environment.LIVE, scope: Scope.ADMIN, name: 'k' };
      const { key } = await accounts.keys.createKey(request, { context });
      const principal = { workspaceId, environment: Environment.LIVE, keyId: key?.id ?? '', scope: Scope.ADMIN };
      return { context: { principal } };
    };
    const ofOwner = await keyOf(`user:${owner.id}`);
    const ofAdmin = await keyOf(`user:${admin.id}`);
    const ofKey = await keyOf('', ofAdmin.context.principal.keyId);
    const ofOperator = await keyOf('operator:ann');
    const { key: reading } = await accounts.keys.createKey(
      { workspaceId, environment: Environment.LIVE, scope: Scope.WRITE, name: 'k' },
      { context: { actor: 'operator:ann' } },
    );
    const ofReading = { context: { principal: { ...ofAdmin.context.principal, keyId: reading?.id ?? '' } } };
    await expect(accounts.members.listMembers({ workspaceId }, ofReading)).rejects.toMatchObject({
      code: 'insufficient_scope',
    });
    const change = (as: typeof ofOwner, target: TestUser, role: Role) =>
      accounts.members.updateMember({ workspaceId, userId: target.id, role }, as);
    const refused = { code: 'insufficient_scope' };
    for (const key of [ofOwner, ofAdmin, ofKey, ofOperator]) {
      expect((await change(key, viewer, Role.DEVELOPER)).member?.role).toBe(Role.DEVELOPER);
      expect((await change(key, viewer, Role.VIEWER)).member?.role).toBe(Role.VIEWER);
      await expect(change(key, viewer, Role.OWNER)).rejects.toMatchObject(refused);
      await expect(change(key, owner, Role.ADMIN)).rejects.toMatchObject(refused);
      await expect(accounts.members.removeMember({ workspaceId, userId: owner.id }, key)).rejects.toMatchObject(
        refused,
      );
      expect((await accounts.members.listMembers({ workspaceId }, key)).members).toHaveLength(4);
      await expect(accounts.members.listMembers({ workspaceId: outsider.workspaceId }, key)).rejects.toMatchObject(
        refused,
      );
    }
    const { invitation } = await accounts.invitations.createInvitation(
      { workspaceId, email: newEmail(), role: Role.ADMIN },
      ofKey,
    );
    expect(invitation?.invitedBy).toBe(`user:${admin.id}`);
    await accounts.members.updateMember({ workspaceId, userId: admin.id, role: Role.DEVELOPER }, as(owner));
    // The invitation ended with the role.
    const { invitations } = await accounts.invitations.listInvitations({ workspaceId });
    expect(invitations).toEqual([]);
    for (const key of [ofAdmin, ofKey]) {
      await expect(change(key, viewer, Role.DEVELOPER)).rejects.toMatchObject(refused);
      await expect(
        accounts.invitations.createInvitation({ workspaceId, email: newEmail(), role: Role.VIEWER }, key),
      ).rejects.toMatchObject(refused);
    }
    await accounts.members.removeMember({ workspaceId, userId: admin.id }, as(owner));
    await expect(accounts.members.listMembers({ workspaceId }, ofAdmin)).rejects.toMatchObject(refused);
  });

  test('a user can read only workspaces in which the user is a member', async () => {
    const { workspace, plan } = await accounts.workspaces.getWorkspace({ workspaceId }, as(viewer));
    expect([workspace?.id, plan]).toEqual([workspaceId, undefined]);
    await expect(accounts.workspaces.getWorkspace({ workspaceId }, as(outsider))).rejects.toMatchObject({
      code: 'insufficient_role',
    });
  });

  test('a user can list only workspaces in which the user is a member', async () => {
    const { workspaces } = await accounts.workspaces.listWorkspaces({}, as(viewer));
    expect(workspaces.map(({ id }) => id)).toEqual([workspaceId]);
    const page = await accounts.workspaces.listWorkspaces({ pageToken: workspaceId }, as(viewer));
    expect(page.workspaces).toEqual([]);
  });

  test('an admin can change members who are not owners, and cannot make owners', async () => {
    expect((await update(admin, viewer, Role.DEVELOPER)).member).toMatchObject({
      userId: viewer.id,
      email: viewer.email,
      role: Role.DEVELOPER,
    });
    await update(admin, developer, Role.ADMIN);
    await update(admin, developer, Role.VIEWER);
    for (const [target, role] of [
      [viewer, Role.OWNER],
      [owner, Role.VIEWER],
      [admin, Role.OWNER],
    ] as const) {
      await expect(update(admin, target, role)).rejects.toMatchObject({ code: 'insufficient_role' });
    }
    await expect(remove(admin, owner)).rejects.toMatchObject({ code: 'insufficient_role' });
    await remove(admin, developer);
    expect(await roles()).toEqual({ [owner.id]: Role.OWNER, [admin.id]: Role.ADMIN, [viewer.id]: Role.DEVELOPER });
    expect(await accounts.audited(workspaceId, 'member.updated')).toMatchObject([
      { actor: `user:${admin.id}`, targetId: viewer.id, role: 'developer' },
      { targetId: developer.id, role: 'admin' },
      { targetId: developer.id, role: 'viewer' },
    ]);
    expect(await accounts.audited(workspaceId, 'member.removed')).toMatchObject([{ targetId: developer.id }]);
  });

  test('developers, viewers and nonmembers cannot change members', async () => {
    const before = await roles();
    for (const by of [developer, viewer, outsider]) {
      for (const target of [owner, admin, developer, viewer, outsider]) {
        await expect(update(by, target, Role.ADMIN)).rejects.toMatchObject({ code: 'insufficient_role' });
        if (by !== target || by === outsider) {
          await expect(remove(by, target)).rejects.toMatchObject({ code: 'insufficient_role' });
        }
      }
    }
    expect(await roles()).toEqual(before);
  });

  test('every member may leave except the last owner', async () => {
    for (const account of [viewer, developer, admin]) await remove(account, account);
    await expect(remove(owner, owner)).rejects.toMatchObject({ code: 'conflict' });
    await expect(update(owner, owner, Role.ADMIN)).rejects.toMatchObject({ code: 'conflict' });
    await expect(remove(undefined, owner)).rejects.toMatchObject({ code: 'conflict' });
    expect(await roles()).toEqual({ [owner.id]: Role.OWNER });
    const second = await accounts.newUser({ workspaceId });
    await remove(owner, owner);
    expect(await roles()).toEqual({ [second.id]: Role.OWNER });
  });

  test('keys of a removed member stay valid, unless they are revoked as well; their creators have names', async () => {
    const one = await accounts.newUser({ workspaceId, role: Role.DEVELOPER });
    const two = await accounts.newUser({ workspaceId, role: Role.DEVELOPER });
    const create = async (by: TestUser, environment: Environment) => {
      const request = { workspaceId, environment, scope: Scope.READ, name: `key of ${by.email}` };
      return (await accounts.keys.createKey(request, as(by))).key?.id ?? '';
    };
    const ofOne = await create(one, Environment.LIVE);
    const ofTwo = [await create(two, Environment.SANDBOX), await create(two, Environment.LIVE)];
    const validOf = async ({ id }: TestUser) =>
      (await accounts.keys.listKeys({ workspaceId, createdBy: `user:${id}`, validOnly: true })).keys;
    expect((await validOf(two)).map(({ id, creatorName }) => [id, creatorName])).toEqual(
      ofTwo.toReversed().map((id) => [id, two.email]),
    );
    const revoking = { workspaceId, userId: two.id, revokeKeys: true };
    await expect(accounts.members.removeMember(revoking, as(one))).rejects.toMatchObject({ code: 'insufficient_role' });
    await remove(owner, one);
    const { revokedKeys } = await accounts.members.removeMember(revoking, as(owner));
    expect(revokedKeys.map(({ id }) => id).sort()).toEqual(ofTwo.toSorted());
    expect(await validOf(two)).toEqual([]);
    expect((await validOf(one)).map(({ id, creatorName }) => [id, creatorName])).toEqual([[ofOne, one.email]]);
    const revoked = await accounts.audited(workspaceId, 'key.revoked');
    expect(revoked.map(({ actor, targetId }) => [actor, targetId]).sort()).toEqual(
      ofTwo.toSorted().map((id) => [`user:${owner.id}`, id]),
    );

    const viewer = await accounts.newUser({ workspaceId, role: Role.VIEWER });
    const leaving = { workspaceId, userId: viewer.id, revokeKeys: true };
    await expect(accounts.members.removeMember(leaving, as(viewer))).rejects.toMatchObject({
      code: 'insufficient_role',
    });
    await remove(viewer, viewer);
    const deleted = await accounts.newUser({ workspaceId, role: Role.DEVELOPER });
    const ofDeleted = await create(deleted, Environment.LIVE);
    const gone = await accounts.users.deleteUser({ id: deleted.id, revokeKeys: true });
    expect(gone.revokedKeys.map(({ id }) => id)).toEqual([ofDeleted]);
    expect((await accounts.keys.getKey({ workspaceId, id: ofDeleted })).key).toMatchObject({
      createdBy: `user:${deleted.id}`,
      creatorName: '',
    });
  });

  test('the open invitations of a removed or demoted member are revoked, unless the new role may create them', async () => {
    const second = await accounts.newUser({ workspaceId });
    const invite = async (by: TestUser, role: Role) =>
      (await accounts.invitations.createInvitation({ workspaceId, email: newEmail(), role }, as(by))).invitation?.id;
    const open = async () =>
      (await accounts.invitations.listInvitations({ workspaceId })).invitations.map(({ id }) => id);
    const kept = await invite(owner, Role.OWNER);
    await invite(second, Role.OWNER);
    const ofAdmin = await invite(second, Role.ADMIN);
    expect(await open()).toHaveLength(3);
    await update(owner, second, Role.ADMIN);
    expect(await open()).toEqual([ofAdmin, kept]);
    await remove(owner, second);
    expect(await open()).toEqual([kept]);
    await invite(admin, Role.VIEWER);
    await update(owner, admin, Role.DEVELOPER);
    expect(await open()).toEqual([kept]);
    expect(await accounts.audited(workspaceId, 'invitation.revoked')).toHaveLength(3);
  });

  test('of two owners who remove each other concurrently, one remains', async () => {
    for (let i = 0; i < 5; i += 1) {
      const workspaceId = await accounts.newWorkspace();
      const [ann, bob] = [
        await accounts.newUser({ workspaceId: workspaceId }),
        await accounts.newUser({ workspaceId: workspaceId }),
      ];
      const results = await Promise.allSettled([
        accounts.members.removeMember({ workspaceId: workspaceId, userId: bob.id }, as(ann)),
        accounts.members.updateMember({ workspaceId: workspaceId, userId: ann.id, role: Role.VIEWER }, as(bob)),
      ]);
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      const { members } = await accounts.members.listMembers({ workspaceId: workspaceId });
      expect(members.some(({ role }) => role === Role.OWNER)).toBe(true);
    }
  });

  test('setting the same role again changes nothing and is not audited', async () => {
    expect((await update(owner, viewer, Role.VIEWER)).member?.role).toBe(Role.VIEWER);
    expect(await accounts.audited(workspaceId, 'member.updated')).toEqual([]);
  });

  test.each([Role.UNSPECIFIED, 99 as Role])('the role %s is rejected', async (role) => {
    await expect(update(owner, viewer, role)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('only an owner can create another workspace, and only for themselves', async () => {
    const make = (by: TestUser, ownerUserId: string) =>
      accounts.workspaces.createWorkspace({ name: 'Next', ownerUserId }, as(by));
    const { workspace } = await make(owner, owner.id);
    const { memberships } = await accounts.users.getUser({ id: owner.id });
    expect(memberships).toHaveLength(2);
    expect(memberships).toContainEqual(expect.objectContaining({ workspaceId: workspace?.id, role: Role.OWNER }));
    expect(await accounts.audited(workspace?.id ?? '', 'member.')).toMatchObject([
      { targetId: owner.id, role: 'owner' },
    ]);
    for (const [by, ownerUserId] of [
      [owner, ''],
      [owner, admin.id],
      [admin, admin.id],
      [viewer, viewer.id],
    ] as const) {
      await expect(make(by, ownerUserId)).rejects.toMatchObject({ code: 'insufficient_role' });
    }
    await expect(accounts.workspaces.createWorkspace({ name: 'Next', ownerUserId: 'usr_none' })).rejects.toMatchObject({
      code: 'not_found',
    });
  });
});
