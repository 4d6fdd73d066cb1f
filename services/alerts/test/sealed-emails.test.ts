import { createSecretBox } from '@rms/base/secrets';
import { startSmtpReceiver } from '@rms/testkit';
import { queueEmails } from '../src/email/email-queries.ts';
import { emailContext } from '../src/sealed/contexts.ts';
import { alertsDatabase, startAlerts, type TestAlerts } from './support.ts';

const [first, second, lost] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2), Buffer.alloc(32, 3)];
/** More than one batch (500). */
const manyEmails = 501;
/** Empty batches of the channels and the stored responses. */
const otherStores = [
  [0, 0],
  [0, 0],
];

test('queued emails are re-encrypted with the current key, and are sent without the previous key', async () => {
  const database = await alertsDatabase();
  const withKeys = (...[current, ...previous]: [Buffer, ...Buffer[]]) =>
    startAlerts({ given: database, encryptionKeys: [current, ...previous] });
  const walk = async ({ secrets }: TestAlerts) => {
    const batches = [];
    for (let pageToken = ''; ; ) {
      const batch = await secrets.reencryptSecrets({ pageToken });
      batches.push(batch);
      pageToken = batch.nextPageToken;
      if (pageToken === '') return batches;
    }
  };
  const countsOf = (batches: Awaited<ReturnType<typeof walk>>) =>
    batches.map(({ resealed, unreadable }) => [resealed, unreadable]);
  const box = createSecretBox(first);
  const base = { recipient: 'a@example.com', expiresAt: new Date(Date.now() + 3_600_000) };
  const emails = Array.from({ length: manyEmails }, (_, i) => {
    const id = `mail_${i}`;
    const content = { subject: `Number ${i}.`, text: 'Hello', html: '<p>Hello</p>' };
    const tenant =
      i % 2 ? { workspaceId: '', environment: '' as const } : { workspaceId: 'ws_1', environment: 'live' as const };
    return { ...base, ...tenant, id, sealed: box.seal(JSON.stringify(content), emailContext({ ...tenant, id })) };
  });
  await queueEmails(database.pool, emails);
  // A sent email's content is erased, so it is not re-encrypted.
  const ended = { ...base, workspaceId: '', environment: '' as const, id: 'mail_ended', sealed: Buffer.alloc(0) };
  await queueEmails(database.pool, [ended]);
  await database.pool.query(`update alerts.emails set state = 'sent', content = null where id = 'mail_ended'`);

  const [outsider, rotating] = [await withKeys(lost), await withKeys(second, first)];
  const smtp = await startSmtpReceiver();
  try {
    expect(countsOf(await walk(outsider))).toEqual([[0, 500], [0, 1], ...otherStores]);
    const batches = await walk(rotating);
    expect(countsOf(batches)).toEqual([[500, 0], [1, 0], ...otherStores]);
    expect(batches.at(-1)?.sealed).toMatchObject([{ current: true, count: BigInt(manyEmails) }]);
    expect(countsOf(await walk(rotating))).toEqual([[0, 0], ...otherStores]);
    for (const pageToken of ['x', 'a/b', 'a/b/c/d']) {
      await expect(rotating.secrets.reencryptSecrets({ pageToken })).rejects.toMatchObject({ code: 'invalid_request' });
    }
    await expect(rotating.secrets.reencryptSecrets({}, { context: { actor: 'user:usr_1' } })).rejects.toMatchObject({
      code: 'insufficient_role',
    });
    // Three emails, from the beginning and end of the list, are enough; sending all of them would be slow.
    await database.pool.query(
      `delete from alerts.emails where id not in ('mail_0', 'mail_1', 'mail_${manyEmails - 1}')`,
    );
    const after = await startAlerts({ given: database, encryptionKeys: [second], smtpUrl: smtp.url });
    const sent = await smtp.received(3);
    const subjects = sent.map(({ raw }) => /^Subject: (.*)$/m.exec(raw)?.[1]?.trim());
    expect(subjects.sort()).toEqual(['Number 0.', 'Number 1.', `Number ${manyEmails - 1}.`]);
    await after.stop();
  } finally {
    await Promise.all([outsider.stop(), rotating.stop()]);
    await smtp.stop();
    await database.drop();
  }
});
