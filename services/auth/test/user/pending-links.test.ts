import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { disposable, perSuite, waitUntil } from '@rms/testkit';
import {
  as,
  authenticator,
  from,
  newAddress,
  newEmail,
  startAccounts,
  type TestUser,
  tokenIn,
} from '../user-support.ts';

const newPassword = 'a quiet lake in autumn';
const notFound = { code: 'not_found' };

describe('Links requested with previous credentials', () => {
  const accounts = perSuite(startAccounts);

  const requestChange = (account: TestUser, email: string, proof: object = { password: account.password }) =>
    accounts.users.requestEmailChange({ id: account.id, email, proof }, as(account));
  const enableFactor = async (account: TestUser) => (await accounts.enroll(account)).device;
  /** Requests every kind of link of a user, and returns the tokens. */
  const requestAll = async (account: TestUser, email: string, proof?: object) => {
    await accounts.takeEmails();
    await requestChange(account, email, proof);
    await accounts.passwords.requestPasswordReset({ email: account.email }, from(newAddress()));
    const { workspaceId } = account;
    await accounts.invitations.createInvitation({ workspaceId, email: newEmail(), role: Role.ADMIN }, as(account));
    const emails = (await accounts.takeEmails()).map(({ content }) => content);
    const tokenOf = (kind: 'emailChange' | 'passwordReset' | 'invitation') => {
      const content = emails.find((one) => one.case === kind);
      if (content?.case !== kind) throw new Error(`no email of kind ${kind}`);
      return content.value.token;
    };
    return {
      emailChange: tokenOf('emailChange'),
      passwordReset: tokenOf('passwordReset'),
      invitation: tokenOf('invitation'),
    };
  };

  const resetLink = async (account: TestUser) => {
    await accounts.takeEmails();
    await accounts.passwords.requestPasswordReset({ email: account.email }, from(newAddress()));
    const [email] = await accounts.takeEmails();
    return tokenIn(email);
  };

  test.each<[string, (account: TestUser, proof: { code: string }) => Promise<unknown>, withFactor?: boolean]>([
    [
      'changing the password',
      (account) =>
        accounts.passwords.changePassword(
          { userId: account.id, currentPassword: account.password, password: newPassword },
          as(account, newAddress()),
        ),
    ],
    [
      'resetting the password with a link',
      async (account) => {
        const token = await resetLink(account);
        await accounts.passwords.resetPassword({ token, password: newPassword }, from(newAddress()));
      },
    ],
    ['an operator reset', (account) => accounts.users.resetUser({ id: account.id })],
    ['ending all sessions', (account) => accounts.users.endSessions({ id: account.id }, as(account))],
    ['enabling two-factor authentication', (account) => enableFactor(account)],
    [
      'disabling two-factor authentication',
      (account, { code }) => accounts.secondFactors.removeSecondFactor({ userId: account.id, code }, as(account)),
      true,
    ],
    [
      'disabling and enabling the user',
      async (account) => {
        await accounts.newUser({ role: Role.OWNER, workspaceId: account.workspaceId });
        await accounts.users.setUserDisabled({ id: account.id, disabled: true });
        await accounts.users.setUserDisabled({ id: account.id, disabled: false });
      },
    ],
    [
      'changing the email address',
      async (account) => {
        const email = newEmail();
        await accounts.takeEmails();
        await requestChange(account, email);
        const sent = (await accounts.takeEmails()).find(({ to }) => to === email);
        const token = tokenIn(sent);
        await accounts.users.confirmEmailChange({ token }, from(newAddress()));
      },
    ],
  ])(
    '%s invalidates email changes, reset links and invitations of this user only, and unlinks identities if credentials change',
    async (what, change, ...[withFactor]) => {
      const [account, other] = [await accounts.newUser(), await accounts.newUser()];
      const device = withFactor ? await enableFactor(account) : undefined;
      // Each code works once, so this is the next period's code. Resetting the last step below makes the current
      // code acceptable again.
      const proof = device && { code: device.at(Date.now() + 30_000) };
      for (const { id } of [account, other]) {
        const link = `insert into auth.identities (issuer, subject, user_id) values ('https://id.example.com', $1, $1)`;
        await accounts.db.query(link, [id]);
      }
      const tokens = await requestAll(account, newEmail(), proof);
      const kept = await requestAll(other, newEmail());
      await accounts.db.query('update auth.users set second_factor_step = 0 where id = $1', [account.id]);
      await change(account, { code: device?.at(Date.now()) ?? '' });

      const confirm = (token: string) => accounts.users.confirmEmailChange({ token }, from(newAddress()));
      const reset = (token: string) =>
        accounts.passwords.resetPassword({ token, password: 'quite another secret' }, from(newAddress()));
      const find = (token: string) => accounts.invitations.findInvitation({ token }, from(newAddress()));
      await expect(confirm(tokens.emailChange)).rejects.toMatchObject(notFound);
      await expect(reset(tokens.passwordReset)).rejects.toMatchObject(notFound);
      await expect(find(tokens.invitation)).rejects.toMatchObject(notFound);
      expect(await accounts.audited(account.workspaceId, 'invitation.revoked')).toHaveLength(1);
      const identitiesOf = async ({ id }: TestUser) => (await accounts.users.getUser({ id })).identities;
      const remaining = what === 'ending all sessions' ? 1 : 0;
      expect(await identitiesOf(account)).toHaveLength(remaining);
      expect(await accounts.audited(account.workspaceId, 'user.identity_unlinked')).toHaveLength(1 - remaining);

      expect(await identitiesOf(other)).toHaveLength(1);
      expect(await find(kept.invitation)).toBeDefined();
      await confirm(kept.emailChange);
    },
  );

  test('deleting a user revokes the open invitations of the user', async () => {
    const owner = await accounts.newUser();
    const account = await accounts.newUser({ workspaceId: owner.workspaceId });
    const { invitation } = await requestAll(account, newEmail());
    await accounts.users.deleteUser({ id: account.id });
    await expect(accounts.invitations.findInvitation({ token: invitation }, from(newAddress()))).rejects.toMatchObject(
      notFound,
    );
  });

  test('an unconfirmed second factor setup ends with the sessions', async () => {
    const account = await accounts.newUser();
    const { secret } = await accounts.secondFactors.beginSecondFactor(
      { userId: account.id, password: account.password },
      as(account),
    );
    await accounts.users.endSessions({ id: account.id }, as(account));
    const code = authenticator(secret).at(Date.now());
    await expect(
      accounts.secondFactors.confirmSecondFactor({ userId: account.id, code }, as(account)),
    ).rejects.toMatchObject({
      code: 'conflict',
    });
  });

  /** Starts `request` while the user is locked, and applies `change` before the request can continue. */
  const overtaken = async <T>(account: TestUser, request: () => Promise<T>, change: string, values: unknown[] = []) => {
    await using holder = disposable(await accounts.db.connect(), 'release');
    await holder.query('begin');
    await holder.query('select from auth.users where id = $1 for update', [account.id]);
    const result = request().then(
      (value) => ({ value }),
      (error) => ({ error }),
    );
    await waitUntil(
      async () => {
        const { rowCount } = await accounts.db.query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        );
        return rowCount === 1;
      },
      { what: 'the request to wait for the user' },
    );
    await holder.query(`update auth.users set ${change} where id = $1`, [account.id, ...values]);
    await holder.query('commit');
    return await result;
  };
  const pending = async (table: string, account: TestUser) =>
    (await accounts.db.query(`select from auth.${table} where user_id = $1`, [account.id])).rowCount;

  test('an email change request that a change of credentials overtakes creates no link', async () => {
    const account = await accounts.newUser();
    const change = 'session_generation = session_generation + 1';
    expect(await overtaken(account, () => requestChange(account, newEmail()), change)).toMatchObject({
      error: { code: 'conflict' },
    });
    expect(await pending('email_changes', account)).toBe(0);
  });

  test.each([
    ['a change of the email address', 'email = $2, email_key = $2', [newEmail()]],
    ['disabling the user', 'disabled_at = now()', []],
  ])('a reset link request overtaken by %s creates no link', async (_, change, values) => {
    const account = await accounts.newUser();
    await accounts.takeEmails();
    const request = () => accounts.passwords.requestPasswordReset({ email: account.email }, from(newAddress()));
    expect(await overtaken(account, request, change, values)).toMatchObject({ value: {} });
    expect(await pending('password_resets', account)).toBe(0);
    expect(await accounts.takeEmails()).toEqual([]);
  });
});
