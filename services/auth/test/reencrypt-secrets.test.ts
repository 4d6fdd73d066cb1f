import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
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
