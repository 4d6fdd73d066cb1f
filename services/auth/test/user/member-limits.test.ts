import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { perSuite } from '@rms/testkit';
import { as, from, newAddress, newEmail, startAccounts, type TestUser } from '../user-support.ts';

describe('The number of members and invitations of a workspace', () => {
  const accounts = perSuite(() =>
    startAccounts({ env: { MAX_MEMBERS_PER_WORKSPACE: '3', MAX_INVITATIONS_PER_WORKSPACE: '4' } }),
  );

  const invite = (owner: TestUser, email = newEmail()) =>
    accounts.invitations.createInvitation({ workspaceId: owner.workspaceId, email, role: Role.DEVELOPER }, as(owner));
  const listed = async (owner: TestUser) =>
    (await accounts.invitations.listInvitations({ workspaceId: owner.workspaceId }, as(owner))).invitations;
  const tokens = async () =>
    (await accounts.takeEmails()).flatMap(({ content }) =>
      content.case === 'invitation' ? [content.value.token] : [],
    );
  const accept = (token: string) =>
    accounts.invitations.acceptInvitation(
      { token, as: { case: 'newUser', value: { name: 'New', password: 'a quiet lake in autumn' } } },
      from(newAddress()),
    );
  const reasons = (outcomes: PromiseSettledResult<unknown>[]) =>
    outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));

  test('open invitations are limited, also with concurrent requests; inviting an invited address again is not', async () => {
    const owner = await accounts.newUser();
    const refused = reasons(await Promise.allSettled(Array.from({ length: 6 }, () => invite(owner))));
    expect(refused).toHaveLength(2);
    expect(refused[0]).toMatchObject({
      code: 'conflict',
      message: 'The workspace has reached its limit of 4 open invitations. Revoke invitations that are not needed.',
    });
    const invitations = await listed(owner);
    expect(invitations).toHaveLength(4);
    const [{ email = '' } = {}, expiring] = invitations;
    await invite(owner, email);
    await expect(invite(owner)).rejects.toMatchObject({ code: 'conflict' });
    await accounts.db.query('update auth.invitations set expires_at = now() where id = $1', [expiring?.id]);
    await invite(owner);
    const { id = '' } = (await listed(owner)).find((one) => one.email === email) ?? {};
    await accounts.invitations.revokeInvitation({ workspaceId: owner.workspaceId, id }, as(owner));
    await invite(owner);
    await invite(await accounts.newUser());
  });

  test('members are limited, also with concurrent acceptances; the invitation stays valid', async () => {
    await accounts.takeEmails();
    const owner = await accounts.newUser();
    for (let i = 0; i < 4; i += 1) await invite(owner);
    const links = await tokens();
    const refused = reasons(await Promise.allSettled(links.map(accept)));
    expect(refused).toHaveLength(2);
    expect(refused[0]).toMatchObject({
      code: 'conflict',
      message: 'The workspace has reached its limit of 3 members. Remove members who no longer need access.',
    });
    const { workspaceId } = owner;
    const { members } = await accounts.members.listMembers({ workspaceId });
    expect(members).toHaveLength(3);
    await expect(accounts.newUser({ workspaceId })).rejects.toMatchObject({ code: 'conflict' });

    const other = members.find(({ userId }) => userId !== owner.id)?.userId ?? '';
    await accounts.members.removeMember({ workspaceId, userId: other }, as(owner));
    const again = await Promise.allSettled(links.map(accept));
    expect(again.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('0 means no limit', async () => {
    const free = await startAccounts({
      database: accounts.database,
      env: { MAX_MEMBERS_PER_WORKSPACE: '0', MAX_INVITATIONS_PER_WORKSPACE: '0' },
    });
    const { workspaceId } = await free.newUser();
    for (let i = 0; i < 3; i += 1) await free.newUser({ workspaceId });
    expect((await free.members.listMembers({ workspaceId })).members).toHaveLength(4);
    await free.stop();
  });
});
