import { timestampDate } from '@bufbuild/protobuf/wkt';
import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { perSuite, shiftClock } from '@rms/testkit';
import { as, authenticator, from, newAddress, newEmail, startAccounts } from './user-support.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

// Callers read the same shifted clock, but the deadlines of their calls are relative to it.
describe.each([
  ['ahead', 30 * dayMs],
  ['behind', -30 * dayMs],
])('An instance whose clock is %s', (_, byMs) => {
  let restore: () => void;
  const accounts = perSuite(startAccounts);
  beforeEach(() => {
    restore = shiftClock(byMs);
  });
  afterEach(() => restore());

  /** Returns the time until a table's links expire, in hours. */
  const hoursLeft = async (table: string) => {
    const { rows } = await accounts.db.query<{ hours: number }>(
      `select round(extract(epoch from expires_at - now()) / 3600)::float8 as hours from auth.${table}`,
    );
    return rows.map(({ hours }) => hours);
  };

  test('creates links that are valid as long as others', async () => {
    const ann = await accounts.newUser();
    await accounts.passwords.requestPasswordReset({ email: ann.email }, from(newAddress()));
    const change = { id: ann.id, email: newEmail(), proof: { password: ann.password } };
    await accounts.users.requestEmailChange(change, as(ann, newAddress()));
    const invitation = { workspaceId: ann.workspaceId, email: newEmail(), role: Role.VIEWER };
    await accounts.invitations.createInvitation(invitation, as(ann));
    expect(await hoursLeft('password_resets')).toEqual([1]);
    expect(await hoursLeft('email_changes')).toEqual([24]);
    expect(await hoursLeft('invitations')).toEqual([7 * 24]);
    // All emails, among them the requested change's notice, are sent before they expire.
    const emails = await accounts.takeEmails();
    expect(emails).toHaveLength(4);
    const { rows } = await accounts.db.query<{ now: Date }>('select now()');
    for (const { expireTime } of emails)
      expect(expireTime && timestampDate(expireTime) > (rows[0]?.now ?? 0)).toBe(true);
  });

  test('accepts codes of authenticators, and its challenges work at other instances', async () => {
    const ann = await accounts.newUser();
    const { secret } = await accounts.secondFactors.beginSecondFactor(
      { userId: ann.id, password: ann.password },
      as(ann, newAddress()),
    );
    const codeNow = async () => {
      const { rows } = await accounts.db.query<{ now: Date }>('select now()');
      return authenticator(secret).at(rows[0]?.now.getTime() ?? 0);
    };
    await accounts.secondFactors.confirmSecondFactor({ userId: ann.id, code: await codeNow() }, as(ann));
    await accounts.db.query('update auth.users set second_factor_step = 0');
    const { challenge } = await accounts.tryPassword(ann.email, ann.password);
    restore();
    const { result } = await accounts.signIn.verifySecondFactor(
      { challenge, code: await codeNow() },
      from(newAddress()),
    );
    expect(result?.outcome).toBe(SignInOutcome.SIGNED_IN);
    restore = shiftClock(byMs);
  });
});
