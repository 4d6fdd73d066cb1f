import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { disposable, perSuite } from '@rms/testkit';
import { as, from, newAddress, newEmail, startAccounts, type TestUser, tokenIn } from '../user-support.ts';

/** Matches the statements that the pool checks a new connection with. */
const ofThePool = /transaction_read_only/;

/** These tests do not measure time. They compare the statements and password hashes that each call causes. */
describe('The existence of an account', () => {
  const work: string[] = [];
  const accounts = perSuite(() => startAccounts({ onWork: (what) => void work.push(what) }));

  /** Returns a call's response, and the statements (without parameters) and hashes that the call caused. */
  const trace = async (call: () => Promise<unknown>) => {
    const before = work.length;
    const response = await call().catch((error) => ({
      code: error.code,
      // The seconds to wait depend on the earlier attempts' duration.
      message: error.message.replaceAll(/\d+/g, 'n'),
      details: error.details,
    }));
    const done = work
      .slice(before)
      .map((what) => what.replaceAll(/\s+/g, ' ').trim())
      .filter((what) => !ofThePool.test(what));
    return { response: plain(response), done };
  };
  const plain = (response: unknown) =>
    JSON.parse(JSON.stringify(response, (_, v) => (typeof v === 'bigint' ? `${v}` : v)));
  const hashesOf = ({ done }: { done: string[] }) => done.filter((what) => what === 'a hash').length;

  const signIn = (email: string) => () =>
    accounts.signIn.verifyPassword({ email, password: 'wrong password' }, from(newAddress()));
  const requestReset = (email: string) => () => accounts.passwords.requestPasswordReset({ email }, from(newAddress()));

  /** Creates a user without a password. */
  const withoutPassword = async (): Promise<TestUser> => {
    const newUser = await accounts.newUser();
    await accounts.db.query('update auth.users set password_hash = null where id = $1', [newUser.id]);
    return newUser;
  };
  const disabled = async (): Promise<TestUser> => {
    const newUser = await accounts.newUser();
    await accounts.db.query('update auth.users set disabled_at = now() where id = $1', [newUser.id]);
    return newUser;
  };
  const withoutWorkspace = async (): Promise<TestUser> => {
    const newUser = await accounts.newUser({ role: Role.VIEWER });
    await accounts.members.removeMember({ workspaceId: newUser.workspaceId, userId: newUser.id });
    return newUser;
  };

  test('is not revealed by a failed sign-in: one hash, the same statements, the same response', async () => {
    const noUser = await trace(signIn(newEmail()));
    expect(hashesOf(noUser)).toBe(1);
    for (const make of [() => accounts.newUser(), withoutPassword, withoutWorkspace, disabled]) {
      const { email } = await make();
      expect(await trace(signIn(email))).toEqual(noUser);
    }
  });

  test('is not revealed by throttled attempts', async () => {
    const heldBack = async (email: string) => {
      const traces = [];
      for (let i = 0; i < 10; i += 1) traces.push(await trace(signIn(email)));
      // As if the attempts had taken no time.
      await accounts.db.query(
        `update auth.throttles set arrival_at = greatest(arrival_at, now() + interval '1 minute')`,
      );
      for (let i = 0; i < 2; i += 1) traces.push(await trace(signIn(email)));
      return traces;
    };
    const known = await heldBack((await accounts.newUser()).email);
    expect(known.map(hashesOf)).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0]);
    expect(await heldBack(newEmail())).toEqual(known);
  });

  test('is not revealed by a password reset request', async () => {
    const noUser = await trace(requestReset(newEmail()));
    expect(noUser.done.length).toBeGreaterThan(3);
    for (const make of [() => accounts.newUser(), withoutPassword, withoutWorkspace, disabled]) {
      const { email } = await make();
      expect(await trace(requestReset(email))).toEqual(noUser);
    }
  });

  test('in other workspaces is not revealed by an invitation', async () => {
    const host = await accounts.newUser();
    const invite = (email: string) => async () => {
      const request = { workspaceId: host.workspaceId, email, role: Role.VIEWER };
      const { invitation } = await accounts.invitations.createInvitation(request, as(host));
      return Object.keys(invitation ?? {}).sort();
    };
    const noUser = await trace(invite(newEmail()));
    expect(await trace(invite((await accounts.newUser()).email))).toEqual(noUser);
  });
});

describe('Tokens of links', () => {
  test('a network that tries many invalid tokens is throttled; valid tokens do not count', async () => {
    await using accounts = disposable(await startAccounts());
    const host = await accounts.newUser();
    const right = async () => {
      const invited = { workspaceId: host.workspaceId, email: newEmail(), role: Role.VIEWER };
      await accounts.invitations.createInvitation(invited, as(host));
      const [email] = await accounts.takeEmails();
      return tokenIn(email);
    };
    const address = newAddress();
    const find = (token: string, at = address) => accounts.invitations.findInvitation({ token }, from(at));
    const token = await right();
    for (let i = 0; i < 60; i += 1) await find(token);
    const guesses = [
      () => find('guessed'),
      () => accounts.passwords.resetPassword({ token: 'guessed', password: 'a password of twelve' }, from(address)),
      () => accounts.users.confirmEmailChange({ token: 'guessed' }, from(address)),
      () =>
        accounts.invitations.acceptInvitation(
          { token: 'guessed', as: { case: 'newUser', value: { name: '', password: 'a password of twelve' } } },
          from(address),
        ),
    ];
    // Concurrently, because the throttle admits one more attempt every six seconds.
    const codes = await Promise.all(
      Array.from({ length: 14 }, () => guesses.map((guess) => guess().then(String, (error) => error.code))).flat(),
    );
    const count = (code: string) => codes.filter((one) => one === code).length;
    expect([count('not_found'), count('rate_limit_exceeded')]).toEqual([50, 6]);
    // Makes the result independent of the attempts' duration.
    await accounts.db.query(`update auth.throttles set arrival_at = arrival_at + interval '1 minute'`);
    await expect(find(token)).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
    expect((await find(token, newAddress())).workspaceName).toBe('Test');
  });
});
