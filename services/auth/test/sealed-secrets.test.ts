import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { Secret } from 'otpauth';
import { as, authenticator, startPeople, type TestPeople } from './people-support.ts';
import { keyOf } from './support.ts';

const { SIGNED_IN } = SignInOutcome;

describe('Changing the encryption key', () => {
  test('second factors and waiting mails are sealed anew, and open as before', async () => {
    const first = await startPeople({ encryptionKeys: [keyOf(1)] });
    const ann = await first.person();
    const { secret } = await first.secondFactors.beginSecondFactor({ userId: ann.id, password: ann.password }, as(ann));
    const code = () => authenticator(secret).at(Date.now());
    await first.secondFactors.confirmSecondFactor({ userId: ann.id, code: code() }, as(ann));
    const walk = async (people: TestPeople) => {
      const batches = [];
      for (let pageToken = ''; ; ) {
        const batch = await people.secrets.reencryptSecrets({ pageToken });
        batches.push(batch);
        pageToken = batch.nextPageToken;
        if (pageToken === '') return batches;
      }
    };
    const { database } = first;
    const second = await startPeople({ database, encryptionKeys: [keyOf(2), keyOf(1)] });
    const lost = await startPeople({ database, encryptionKeys: [keyOf(3)] });
    const third = await startPeople({ database, encryptionKeys: [keyOf(2)] });
    try {
      const unreadable = await walk(lost);
      expect(unreadable.map(({ resealed, unreadable }) => [resealed, unreadable])).toEqual([
        [0, 1],
        [0, 1],
      ]);
      expect(unreadable.flatMap(({ unreadableUserIds }) => unreadableUserIds)).toEqual([ann.id]);
      const batches = await walk(second);
      expect(batches.map(({ resealed, unreadable }) => [resealed, unreadable])).toEqual([
        [1, 0],
        [1, 0],
      ]);
      expect(batches.at(-1)?.sealed).toMatchObject([{ current: true, count: 2n }]);
      expect((await walk(second)).map(({ resealed }) => resealed)).toEqual([0, 0]);
      expect(await third.takeMails()).toMatchObject([{ to: ann.email }]);
      await third.db.query('update auth.users set second_factor_step = 0');
      const { challenge } = await third.tryPassword(ann.email, ann.password);
      const { result } = await third.signIn.verifySecondFactor({ challenge, code: code() });
      expect(result).toMatchObject({ outcome: SIGNED_IN });
      for (const pageToken of ['x', '9/', '0', '/']) {
        await expect(second.secrets.reencryptSecrets({ pageToken })).rejects.toMatchObject({ code: 'invalid_request' });
      }
    } finally {
      for (const people of [third, lost, second, first]) await people.stop();
    }
  });
});

describe('What is stored of a second factor', () => {
  let people: TestPeople;
  beforeAll(async () => {
    people = await startPeople();
  });
  afterAll(() => people?.stop());

  test('neither the secret nor a recovery code is at rest or in a log as it is', async () => {
    const ann = await people.person();
    const { secret } = await people.secondFactors.beginSecondFactor(
      { userId: ann.id, password: ann.password },
      as(ann),
    );
    const code = authenticator(secret).at(Date.now());
    const { recoveryCodes } = await people.secondFactors.confirmSecondFactor({ userId: ann.id, code }, as(ann));
    const { rows } = await people.db.query<{ row: string }>(
      `select t::text as row from auth.users as t union all select t::text from auth.recovery_codes as t
        union all select t::text from audit.entries as t union all select t::text from auth.mail_requests as t`,
    );
    const everything = JSON.stringify([rows, people.logged]);
    const bytes = Buffer.from(Secret.fromBase32(secret).bytes);
    const forms = [secret, bytes.toString('hex'), ...recoveryCodes.flatMap((one) => [one, one.replaceAll('-', '')])];
    for (const form of forms) expect(everything).not.toContain(form);
  });
});
