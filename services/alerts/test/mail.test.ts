import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/ids';
import { AlertKind } from '@rms/proto/rms/alerts/v1/alert_pb';
import { SecurityMail_Change } from '@rms/proto/rms/auth/v1/mail_requests_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { createSecretBox } from '@rms/secrets';
import { createLogger } from '@rms/service';
import { type SmtpReceiver, startSmtpReceiver, waitUntil } from '@rms/testkit';
import { queueMails } from '../src/mail/mail-queries.ts';
import { createSmtpDelivery, readSmtpUrl } from '../src/mail/smtp.ts';
import { alertsDatabase, newTenant, type StartOptions, startAlerts } from './support.ts';

const kind = AlertKind.QUOTA;
const silent = createLogger({ name: 'test', level: 'silent' });
const outgoing = {
  id: 'mail_1',
  from: 'rms@example.com',
  to: 'a@example.com',
  raw: Buffer.from('Subject: x\r\n\r\nhello\r\n'),
};

/** A service, and a workspace whose rule for the quota can be tested. */
async function start(options: StartOptions) {
  const service = await startAlerts(options);
  const tenant = newTenant();
  service.auth.addWorkspace(tenant.workspaceId, 'Acme', 'owner@example.com');
  const rows = async () =>
    (await service.database.pool.query('select state, attempts, last_error, content from alerts.mails')).rows;
  return {
    ...service,
    tenant,
    send: () => service.alerts.testRule({ ...tenant, kind }),
    rows,
    /** The mails are due at once, as when time has passed. */
    hurry: () => service.database.pool.query(`update alerts.mails set due_at = now() where state = 'queued'`),
    inState: (state: string) =>
      waitUntil(async () => (await rows()).find((row) => row.state === state), { what: `a mail ${state}` }),
  };
}

describe('Mail over SMTP', () => {
  const cleanUps: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (let next = cleanUps.pop(); next; next = cleanUps.pop()) await next();
  });
  const receiver = async (options: Parameters<typeof startSmtpReceiver>[0] = {}): Promise<SmtpReceiver> => {
    const smtp = await startSmtpReceiver(options);
    cleanUps.push(() => smtp.stop());
    return smtp;
  };
  const started = async (options: StartOptions) => {
    const service = await start(options);
    cleanUps.push(() => service.stop());
    return service;
  };

  test('waits while the server is down, and is sent when it is back; what it said is forgotten then', async () => {
    const smtp = await receiver();
    await smtp.kill();
    const service = await started({ smtpUrl: smtp.url });
    await service.send();
    await waitUntil(async () => (await service.rows())[0]?.last_error !== '', { what: 'an attempt' });
    expect(await service.rows()).toMatchObject([{ state: 'queued', attempts: 1 }]);
    await smtp.restart();
    await service.hurry();
    await smtp.received(1);
    expect(await service.inState('sent')).toMatchObject({ content: null, last_error: '' });
  });

  test('that the server does not want now (4xx) is tried again; one that it never wants (5xx) is not', async () => {
    const smtp = await receiver();
    const service = await started({ smtpUrl: smtp.url });
    smtp.behave({ refuseRecipient: { code: 451, text: 'greylisted' } });
    await service.send();
    await waitUntil(async () => (await service.rows())[0]?.last_error.includes('greylisted'), { what: 'a refusal' });
    expect(await service.rows()).toMatchObject([{ state: 'queued' }]);
    smtp.behave({ refuseMail: { code: 554, text: 'no such thing here' } });
    await service.hurry();
    expect(await service.inState('failed')).toMatchObject({ attempts: 2, content: null });
    expect(smtp.mails()).toEqual([]);
    smtp.behave({ refuseRecipient: { code: 550, text: 'no such user' } });
    await service.send();
    await waitUntil(async () => (await service.rows()).filter(({ state }) => state === 'failed').length === 2, {
      what: 'both',
    });
    smtp.behave({});
    await service.send();
    await smtp.received(1);
  });

  test('goes over STARTTLS or TLS to a server whose certificate is good, with the password', async () => {
    const login = { user: 'rms@example.com', password: 'p@ss/word' };
    for (const tls of ['starttls', 'from-the-start'] as const) {
      const smtp = await receiver({ tls, login });
      const service = await started({ smtpUrl: smtp.url, smtpCa: readFileSync(smtp.caFile) });
      await service.send();
      const [mail] = await smtp.received(1);
      expect(mail).toMatchObject({
        secure: true,
        user: login.user,
        from: 'rms@example.com',
        to: ['owner@example.com'],
      });
      expect(service.logged.join('')).not.toContain('p@ss');
    }
  });

  test('does not go to a server whose certificate is not good, and the password is not told to it', async () => {
    const login = { user: 'rms', password: 'secret-of-rms' };
    for (const wrongName of [false, true]) {
      const smtp = await receiver({ tls: 'from-the-start', login, wrongName });
      // The first one is of an authority that is not known.
      const ca = wrongName ? readFileSync(smtp.caFile) : undefined;
      const deliver = createSmtpDelivery(readSmtpUrl(smtp.url, ca), silent);
      expect(await deliver(outgoing)).toMatchObject({
        outcome: 'try_again',
        error: expect.stringMatching(/certificate|altnames/i),
      });
      expect(smtp.mails()).toEqual([]);
    }
  });

  test('a password does not go over the network in clear', async () => {
    const url = 'smtp://rms:secret@mail.example.com:2525';
    const config = readSmtpUrl(url, undefined);
    expect(config).toMatchObject({
      host: 'mail.example.com',
      port: 2525,
      secure: false,
      user: 'rms',
      password: 'secret',
    });
    // By a name that is not this machine's a server on loopback that has no TLS.
    const smtp = await receiver({ login: { user: 'rms', password: 'secret' } });
    const named = { ...config, host: '0.0.0.0', port: smtp.port };
    const result = await createSmtpDelivery(named, silent)(outgoing);
    expect(result).toMatchObject({ outcome: 'try_again', error: expect.stringMatching(/TLS/i) });
    expect(smtp.mails()).toEqual([]);
  });

  test('a wrong password is the settings’ fault: the mail waits', async () => {
    const smtp = await receiver({ tls: 'from-the-start', login: { user: 'rms', password: 'right' } });
    const url = smtp.url.replace('right', 'wrong');
    const deliver = createSmtpDelivery(readSmtpUrl(url, readFileSync(smtp.caFile)), silent);
    const result = await deliver(outgoing);
    expect(result).toMatchObject({ outcome: 'try_again' });
    expect(JSON.stringify(result)).not.toContain('wrong"');
  });

  test('whoever sends it is killed after the server has taken it: it is sent again, as the same mail', async () => {
    const smtp = await receiver();
    const database = await alertsDatabase();
    cleanUps.push(() => database.drop());
    const id = newId('mail');
    const content = { subject: 'Hello', text: 'Hello', html: '<p>Hello</p>' };
    const sealed = createSecretBox(Buffer.alloc(32, 1)).seal(JSON.stringify(content), id);
    const expiresAt = new Date(Date.now() + 60_000);
    await queueMails(database.pool, [
      { workspaceId: '', environment: '', id, recipient: 'a@example.com', sealed, expiresAt },
    ]);
    smtp.behave({ neverAnswers: true });
    const worker = spawn(process.execPath, [
      fileURLToPath(new URL('./fixtures/mail-worker.mjs', import.meta.url)),
      JSON.stringify({ databaseUrl: database.url, smtpUrl: smtp.url }),
    ]);
    const ended = once(worker, 'exit');
    await smtp.received(1);
    worker.kill('SIGKILL');
    await ended;
    smtp.behave({});
    const service = await started({ smtpUrl: smtp.url, given: database });
    // Nobody takes it before the lease has run out.
    const { rows } = await database.pool.query('select state, due_at > now() as leased from alerts.mails');
    expect(rows).toEqual([{ state: 'queued', leased: true }]);
    await database.pool.query('update alerts.mails set due_at = now()');
    const mails = await smtp.received(2);
    const messageIds = mails.map(({ raw }) => /^Message-ID: (.*)$/im.exec(raw)?.[1]);
    expect(messageIds).toEqual([`<${id}@example.com>`, `<${id}@example.com>`]);
    await waitUntil(
      async () => (await database.pool.query(`select from alerts.mails where state = 'sent'`)).rowCount === 1,
      {
        what: 'the mark',
      },
    );
    expect(service.logged.some((line) => line.includes('mail sent'))).toBe(true);
  });

  test('is given up when it is of no use any more, or cannot be read', async () => {
    const smtp = await receiver();
    const service = await started({ smtpUrl: smtp.url });
    const box = createSecretBox(Buffer.alloc(32, 9));
    const base = { workspaceId: '', environment: '' as const, recipient: 'a@example.com' };
    const sealed = createSecretBox(Buffer.alloc(32, 1)).seal('{}', 'mail_old');
    await queueMails(service.database.pool, [
      { ...base, id: 'mail_old', sealed, expiresAt: new Date(Date.now() - 1) },
      { ...base, id: 'mail_strange', sealed: box.seal('{}', 'mail_strange'), expiresAt: new Date(Date.now() + 60_000) },
    ]);
    await waitUntil(async () => (await service.rows()).filter(({ state }) => state === 'failed').length === 2, {
      what: 'both',
    });
    expect(smtp.mails()).toEqual([]);
  });

  test('settings that are wrong are told of, without the password', () => {
    for (const url of [
      'smtp://rms@mail.example.com',
      'smtp://rms:hidden@mail.example.com/path',
      'smtp://:hidden@mail.example.com',
    ]) {
      expect(() => readSmtpUrl(url, undefined)).toThrow(/^(?!.*hidden).*SMTP_URL/);
    }
  });
});

describe('Mails of accounts', () => {
  const linkToken = 'a-secret-token-of-32-bytes';

  test('are fetched from auth, sent once, and hold their links; the tokens are nowhere else', async () => {
    const smtp = await startSmtpReceiver();
    const service = await startAlerts({ smtpUrl: smtp.url });
    const expireTime = timestampFromMs(Date.now() + 3_600_000);
    service.auth.losesDeletes = true;
    service.auth.mails = [
      {
        id: 'mlr_1',
        to: 'new@example.com',
        expireTime,
        content: {
          case: 'invitation',
          value: {
            token: linkToken,
            workspaceName: 'Acme',
            role: Role.ADMIN,
            invitedBy: 'boss@example.com',
            expireTime,
          },
        },
      },
      {
        id: 'mlr_2',
        to: 'old@example.com',
        expireTime,
        content: { case: 'passwordReset', value: { token: 'reset-token', expireTime } },
      },
      {
        id: 'mlr_3',
        to: 'old@example.com',
        content: { case: 'security', value: { change: SecurityMail_Change.PASSWORD_CHANGED, address: '192.0.2.7' } },
      },
      { id: 'mlr_4', to: 'two@example.com, three@example.com', content: { case: 'passwordReset', value: {} } },
    ];
    const mails = await smtp.received(3);
    await waitUntil(() => service.auth.mails.length === 0, { what: 'all to be fetched' });
    const textTo = (address: string) =>
      mails.filter(({ to }) => to.includes(address)).map(({ raw }) => raw.replace(/=\r\n/g, '').replace(/=3D/g, '='));
    expect(textTo('new@example.com')[0]).toContain(`https://dashboard.example.com/invitation#${linkToken}`);
    expect(textTo('new@example.com')[0]).toContain('boss@example.com invites you to the workspace Acme as admin.');
    expect(textTo('old@example.com').join()).toContain('https://dashboard.example.com/password-reset#reset-token');
    expect(textTo('old@example.com').join()).toContain('Your password was changed from 192.0.2.7.');
    expect(textTo('old@example.com').join()).not.toMatch(/List-Unsubscribe/i);
    await waitUntil(
      async () => (await service.database.pool.query(`select from alerts.mails where state = 'sent'`)).rowCount === 3,
      { what: 'all marks' },
    );
    expect(smtp.mails()).toHaveLength(3);
    expect(service.logged.join('')).not.toContain(linkToken);
    expect(service.logged.some((line) => line.includes('mlr_4'))).toBe(true);
    await service.stop();
    await smtp.stop();
  });

  test('that wait are sealed', async () => {
    const service = await startAlerts();
    service.auth.mails = [
      { id: 'mlr_1', to: 'new@example.com', content: { case: 'passwordReset', value: { token: linkToken } } },
    ];
    const row = await waitUntil(
      async () => (await service.database.pool.query('select m::text as row from alerts.mails as m')).rows[0],
      { what: 'the mail' },
    );
    expect(row.row).not.toContain(Buffer.from(linkToken).toString('hex'));
    expect(service.logged.some((line) => line.includes('mails wait'))).toBe(true);
    await service.stop();
  });
});

describe('Without a mail server', () => {
  test('mails are files that only their owner reads, named in the log', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rms-mail-'));
    const mailFolder = join(folder, 'mail');
    const service = await start({ mailFolder });
    await service.send();
    await service.inState('sent');
    const [file = ''] = readdirSync(mailFolder);
    expect(file).toMatch(/^ntf_.*\.eml$/);
    const raw = readFileSync(join(mailFolder, file), 'utf8');
    expect(raw).toMatch(/^To: owner@example\.com\r$/m);
    expect(raw).toMatch(/^Subject: =\?UTF-8\?Q\?Test=3A_Monthly_quota/m);
    expect(statSync(join(mailFolder, file)).mode & 0o077).toBe(0);
    expect(service.logged.some((line) => line.includes(file))).toBe(true);
    await service.stop();
    rmSync(folder, { recursive: true });
  });
});
