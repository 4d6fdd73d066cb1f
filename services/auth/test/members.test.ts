import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { as, type Person, startPeople, type TestPeople } from './people-support.ts';

describe('Members', () => {
  let people: TestPeople;
  let owner: Person;
  let admin: Person;
  let developer: Person;
  let viewer: Person;
  let stranger: Person;
  let workspaceId: string;
  beforeAll(async () => {
    people = await startPeople();
  });
  beforeEach(async () => {
    owner = await people.person();
    workspaceId = owner.workspaceId;
    admin = await people.person({ workspaceId, role: Role.ADMIN });
    developer = await people.person({ workspaceId, role: Role.DEVELOPER });
    viewer = await people.person({ workspaceId, role: Role.VIEWER });
    stranger = await people.person();
  });
  afterAll(() => people?.stop());

  const roles = async () => {
    const { members } = await people.members.listMembers({ workspaceId });
    return Object.fromEntries(members.map(({ userId, role }) => [userId, role]));
  };
  const update = (by: Person | undefined, whom: Person, role: Role) =>
    people.members.updateMember({ workspaceId, userId: whom.id, role }, by && as(by));
  const remove = (by: Person | undefined, whom: Person) =>
    people.members.removeMember({ workspaceId, userId: whom.id }, by && as(by));

  test('every member sees all of them, by address; a stranger sees none', async () => {
    for (const who of [owner, admin, developer, viewer]) {
      const { members } = await people.members.listMembers({ workspaceId }, as(who));
      expect(members.map(({ email }) => email)).toEqual(
        [owner, admin, developer, viewer].map(({ email }) => email).sort(),
      );
    }
    await expect(people.members.listMembers({ workspaceId }, as(stranger))).rejects.toMatchObject({
      code: 'insufficient_role',
    });
    const { members } = await people.members.listMembers({ workspaceId: 'ws_none' });
    expect(members).toEqual([]);
  });

  test('an admin changes whoever is no owner, and makes none', async () => {
    expect((await update(admin, viewer, Role.DEVELOPER)).member).toMatchObject({
      userId: viewer.id,
      email: viewer.email,
      role: Role.DEVELOPER,
    });
    await update(admin, developer, Role.ADMIN);
    await update(admin, developer, Role.VIEWER);
    for (const [whom, role] of [
      [viewer, Role.OWNER],
      [owner, Role.VIEWER],
      [admin, Role.OWNER],
    ] as const) {
      await expect(update(admin, whom, role)).rejects.toMatchObject({ code: 'insufficient_role' });
    }
    await expect(remove(admin, owner)).rejects.toMatchObject({ code: 'insufficient_role' });
    await remove(admin, developer);
    expect(await roles()).toEqual({ [owner.id]: Role.OWNER, [admin.id]: Role.ADMIN, [viewer.id]: Role.DEVELOPER });
    expect(await people.audited(workspaceId, 'member.updated')).toMatchObject([
      { actor: `user:${admin.id}`, targetId: viewer.id, from: 'viewer', role: 'developer' },
      { targetId: developer.id, from: 'developer', role: 'admin' },
      { targetId: developer.id, from: 'admin', role: 'viewer' },
    ]);
    expect(await people.audited(workspaceId, 'member.removed')).toMatchObject([{ targetId: developer.id }]);
  });

  test('developers, viewers and strangers change nobody', async () => {
    const before = await roles();
    for (const by of [developer, viewer, stranger]) {
      for (const whom of [owner, admin, developer, viewer, stranger]) {
        await expect(update(by, whom, Role.ADMIN)).rejects.toMatchObject({ code: 'insufficient_role' });
        if (by !== whom || by === stranger) {
          await expect(remove(by, whom)).rejects.toMatchObject({ code: 'insufficient_role' });
        }
      }
    }
    expect(await roles()).toEqual(before);
  });

  test('everybody may leave, but the last owner', async () => {
    for (const who of [viewer, developer, admin]) await remove(who, who);
    await expect(remove(owner, owner)).rejects.toMatchObject({ code: 'conflict' });
    await expect(update(owner, owner, Role.ADMIN)).rejects.toMatchObject({ code: 'conflict' });
    await expect(remove(undefined, owner)).rejects.toMatchObject({ code: 'conflict' });
    expect(await roles()).toEqual({ [owner.id]: Role.OWNER });
    const second = await people.person({ workspaceId });
    await remove(owner, owner);
    expect(await roles()).toEqual({ [second.id]: Role.OWNER });
  });

  test('two owners who remove each other at once: one of them stays', async () => {
    for (let i = 0; i < 5; i += 1) {
      const place = await people.newWorkspace();
      const [ann, bob] = [await people.person({ workspaceId: place }), await people.person({ workspaceId: place })];
      const results = await Promise.allSettled([
        people.members.removeMember({ workspaceId: place, userId: bob.id }, as(ann)),
        people.members.updateMember({ workspaceId: place, userId: ann.id, role: Role.VIEWER }, as(bob)),
      ]);
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      const { members } = await people.members.listMembers({ workspaceId: place });
      expect(members.some(({ role }) => role === Role.OWNER)).toBe(true);
    }
  });

  test('the same role again changes nothing, and is not in the audit log', async () => {
    expect((await update(owner, viewer, Role.VIEWER)).member?.role).toBe(Role.VIEWER);
    expect(await people.audited(workspaceId, 'member.updated')).toEqual([]);
  });

  test.each([Role.UNSPECIFIED, 99 as Role])('the role %s is refused', async (role) => {
    await expect(update(owner, viewer, role)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('an owner makes further workspaces and owns them; others, and for others, do not', async () => {
    const make = (by: Person, ownerUserId: string) =>
      people.workspaces.createWorkspace({ name: 'Next', ownerUserId }, as(by));
    const { workspace } = await make(owner, owner.id);
    const { memberships } = await people.users.getUser({ id: owner.id });
    expect(memberships).toHaveLength(2);
    expect(memberships).toContainEqual(expect.objectContaining({ workspaceId: workspace?.id, role: Role.OWNER }));
    expect(await people.audited(workspace?.id ?? '', 'member.')).toMatchObject([{ targetId: owner.id, role: 'owner' }]);
    for (const [by, ownerUserId] of [
      [owner, ''],
      [owner, admin.id],
      [admin, admin.id],
      [viewer, viewer.id],
    ] as const) {
      await expect(make(by, ownerUserId)).rejects.toMatchObject({ code: 'insufficient_role' });
    }
    await expect(people.workspaces.createWorkspace({ name: 'Next', ownerUserId: 'usr_none' })).rejects.toMatchObject({
      code: 'not_found',
    });
  });
});
