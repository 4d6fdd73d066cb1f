import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { perSuite } from '@rms/testkit';
import { Secret } from 'otpauth';
import { keyOf } from './support.ts';
import { as, authenticator, startAccounts, type TestAccounts } from './user-support.ts';

const { SIGNED_IN } = SignInOutcome;

describe('Changing the encryption key', () => {
  test('second factors, queued emails and stored responses are re-encrypted and stay readable', async () => {
    const first = await startAccounts({ encryptionKeys: [keyOf(1)] });
    const ann = await first.newUser();
    const { secret } = await first.secondFactors.beginSecondFactor({ userId: ann.id, password: ann.password }, as(ann));
    const code = () => authenticator(secret).at(Date.now());
    await first.secondFactors.confirmSecondFactor({ userId: ann.id, code: code() }, as(ann));
    const asked = {
      workspaceId: await first.newWorkspace(),
      environment: Environment.LIVE,
      scope: Scope.READ,
      name: 'once',
      idempotencyKey: 'once',
    };
    const { keyValue } = await first.keys.createKey(asked);
    const walk = async (accounts: TestAccounts) => {
      const batches = [];
      for (let pageToken = ''; ; ) {
        const batch = await accounts.secrets.reencryptSecrets({ pageToken });
        batches.push(batch);
        pageToken = batch.nextPageToken;
        if (pageToken === '') return batches;
      }
    };
    const { database } = first;
    const second = await startAccounts({ database, encryptionKeys: [keyOf(2), keyOf(1)] });
    const lost = await startAccounts({ database, encryptionKeys: [keyOf(3)] });
    const third = await startAccounts({ database, encryptionKeys: [keyOf(2)] });
    try {
      const unreadable = await walk(lost);
      expect(unreadable.map(({ resealed, unreadable }) => [resealed, unreadable])).toEqual([
        [0, 1],
        [0, 1],
        [0, 1],
      ]);
      expect(unreadable.flatMap(({ unreadableUserIds }) => unreadableUserIds)).toEqual([ann.id]);
      const batches = await walk(second);
      expect(batches.map(({ resealed, unreadable }) => [resealed, unreadable])).toEqual([
        [1, 0],
        [1, 0],
        [1, 0],
      ]);
      expect(batches.at(-1)?.sealed).toMatchObject([{ current: true, count: 3n }]);
      expect((await walk(second)).map(({ resealed }) => resealed)).toEqual([0, 0, 0]);
      expect(await third.keys.createKey(asked)).toMatchObject({ keyValue, replayed: true });
      expect(await third.takeEmails()).toMatchObject([{ to: ann.email }]);
      await third.db.query('update auth.users set second_factor_step = 0');
      const { challenge } = await third.tryPassword(ann.email, ann.password);
      const { result } = await third.signIn.verifySecondFactor({ challenge, code: code() });
      expect(result).toMatchObject({ outcome: SIGNED_IN });
      for (const pageToken of ['x', '9/', '0', '/']) {
        await expect(second.secrets.reencryptSecrets({ pageToken })).rejects.toMatchObject({ code: 'invalid_request' });
      }
    } finally {
      for (const accounts of [third, lost, second, first]) await accounts.stop();
    }
  });
});

describe('Stored second factors', () => {
  const accounts = perSuite(startAccounts);

  test('neither the secret nor a recovery code is stored or logged in plain text', async () => {
    const ann = await accounts.newUser();
    const { secret, recoveryCodes } = await accounts.enroll(ann);
    const { rows } = await accounts.db.query<{ row: string }>(
      `select t::text as row from auth.users as t union all select t::text from auth.recovery_codes as t
        union all select t::text from audit.entries as t union all select t::text from auth.email_requests as t`,
    );
    const everything = JSON.stringify([rows, accounts.logged]);
    const bytes = Buffer.from(Secret.fromBase32(secret).bytes);
    const forms = [secret, bytes.toString('hex'), ...recoveryCodes.flatMap((one) => [one, one.replaceAll('-', '')])];
    for (const form of forms) expect(everything).not.toContain(form);
  });
});
