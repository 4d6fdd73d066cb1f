import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/base/ids';
import { createSecretBox } from '@rms/base/secrets';
import { AlertKind } from '@rms/proto/rms/alerts/v1/alert_pb';
import { SecurityEmail_Change } from '@rms/proto/rms/auth/v1/email_requests_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { createLogger } from '@rms/runtime/logging';
import { disposable, type SmtpReceiver, shiftClock, startSmtpReceiver, waitUntil } from '@rms/testkit';
import { queueEmails } from '../src/email/email-queries.ts';
import { createSmtpDelivery, readSmtpUrl } from '../src/email/smtp.ts';
import { emailContext } from '../src/sealed/contexts.ts';
import { alertsDatabase, newTenant, type StartOptions, smtpOptions, startAlerts } from './support.ts';

const kind = AlertKind.QUOTA;
const silent = createLogger({ name: 'test', level: 'silent' });
const outgoing = {
  id: 'mail_1',
  from: 'rms@example.com',
  to: 'a@example.com',
  raw: Buffer.from('Subject: x\r\n\r\nhello\r\n'),
};

/** Starts the service with a workspace with a quota rule that can send test emails. */
async function start(options: StartOptions) {
  const service = await startAlerts(options);
  const tenant = newTenant();
  service.auth.addWorkspace(tenant.workspaceId, 'Acme', 'owner@example.com');
  const rows = async () =>
    (await service.database.pool.query('select state, attempts, last_error, content from alerts.emails')).rows;
  return {
    ...service,
    tenant,
    send: () => service.alerts.testRule({ ...tenant, kind }),
    rows,
    /** Makes all queued emails due, as if their delay had passed. */
    makeDue: () => service.database.pool.query(`update alerts.emails set due_at = now() where state = 'queued'`),
    inState: (state: string) =>
      waitUntil(async () => (await rows()).find((row) => row.state === state), { what: `an email in state ${state}` }),
  };
}

test.each([
  ['an SMTP server', { smtpUrl: 'smtp://127.0.0.1:47998' }, true],
  ['a folder for emails', { emailFolder: join(tmpdir(), 'rms-emails') }, false],
  ['neither', {}, false],
])('with %s, the email status has_smtp is correct', async (_, options, hasSmtp) => {
  await using service = disposable(await startAlerts(options));
  expect((await service.alerts.getEmailStatus({})).hasSmtp).toBe(hasSmtp);
});

describe('Email over SMTP', () => {
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

  test('stays queued while the server is down and is sent when it is back; then its content is erased', async () => {
    const smtp = await receiver();
    await smtp.kill();
    const service = await started({ smtpUrl: smtp.url });
    await service.send();
    await waitUntil(async () => (await service.rows())[0]?.last_error !== '', { what: 'a failed attempt' });
    expect(await service.rows()).toMatchObject([{ state: 'queued', attempts: 1 }]);
    await smtp.restart();
    await service.makeDue();
    await smtp.received(1);
    expect(await service.inState('sent')).toMatchObject({ content: null, last_error: '' });
  });

  test('is retried after a temporary rejection (4xx), but not after a permanent one (5xx)', async () => {
    const smtp = await receiver();
    const service = await started({ smtpUrl: smtp.url });
    smtp.behave({ refuseRecipient: { code: 451, text: 'greylisted' } });
    await service.send();
    await waitUntil(async () => (await service.rows())[0]?.last_error.includes('greylisted'), { what: 'a rejection' });
    expect(await service.rows()).toMatchObject([{ state: 'queued' }]);
    smtp.behave({ refuseEmail: { code: 554, text: 'no such thing here' } });
    await service.makeDue();
    expect(await service.inState('failed')).toMatchObject({ attempts: 2, content: null });
    expect(smtp.emails()).toEqual([]);
    smtp.behave({ refuseRecipient: { code: 550, text: 'no such user' } });
    await service.send();
    await waitUntil(async () => (await service.rows()).filter(({ state }) => state === 'failed').length === 2, {
      what: 'both failures',
    });
    smtp.behave({});
    await service.send();
    await smtp.received(1);
  });

  test('is sent with the password over STARTTLS or TLS to a server with a valid certificate', async () => {
    const login = { user: 'rms@example.com', password: 'p@ss/word' };
    for (const tls of ['starttls', 'from-the-start'] as const) {
      const smtp = await receiver({ tls, login });
      const service = await started({ smtpUrl: smtp.url, smtpCa: readFileSync(smtp.caFile) });
      await service.send();
      const [email] = await smtp.received(1);
      expect(email).toMatchObject({
        secure: true,
        user: login.user,
        from: 'rms@example.com',
        to: ['owner@example.com'],
      });
      expect(service.logged.join('')).not.toContain('p@ss');
    }
  });

  test('is not sent to a server with an invalid certificate, which does not get the password either', async () => {
    const login = { user: 'rms', password: 'secret-of-rms' };
    for (const wrongName of [false, true]) {
      const smtp = await receiver({ tls: 'from-the-start', login, wrongName });
      // Without the CA file, the certificate has an unknown issuer.
      const ca = wrongName ? readFileSync(smtp.caFile) : undefined;
      const deliver = createSmtpDelivery(readSmtpUrl(smtp.url, smtpOptions({ ca })), silent);
      expect(await deliver(outgoing)).toMatchObject({
        outcome: 'try_again',
        error: expect.stringMatching(/certificate|altnames/i),
      });
      expect(smtp.emails()).toEqual([]);
    }
  });

  test('a password is not sent over the network unencrypted', async () => {
    const url = 'smtp://rms:secret@mail.example.com:2525';
    const config = readSmtpUrl(url, smtpOptions());
    expect(config).toMatchObject({
      host: 'mail.example.com',
      port: 2525,
      secure: false,
      user: 'rms',
      password: 'secret',
    });
    // The host name is not recognized as local, although it reaches a server on loopback without TLS.
    const smtp = await receiver({ login: { user: 'rms', password: 'secret' } });
    const named = { ...config, host: '0.0.0.0', port: smtp.port };
    const result = await createSmtpDelivery(named, silent)(outgoing);
    expect(result).toMatchObject({ outcome: 'try_again', error: expect.stringMatching(/TLS/i) });
    expect(smtp.emails()).toEqual([]);
  });

  test('a wrong password is a configuration error, so the email stays queued', async () => {
    const smtp = await receiver({ tls: 'from-the-start', login: { user: 'rms', password: 'right' } });
    const url = smtp.url.replace('right', 'wrong');
    const deliver = createSmtpDelivery(readSmtpUrl(url, smtpOptions({ ca: readFileSync(smtp.caFile) })), silent);
    const result = await deliver(outgoing);
    expect(result).toMatchObject({ outcome: 'try_again' });
    expect(JSON.stringify(result)).not.toContain('wrong"');
  });

  test('is sent again with the same Message-ID if the sender is killed after the server accepted it', async () => {
    const smtp = await receiver();
    const database = await alertsDatabase();
    cleanUps.push(() => database.drop());
    const id = newId('mail');
    const content = { subject: 'Hello', text: 'Hello', html: '<p>Hello</p>' };
    const sealed = createSecretBox(Buffer.alloc(32, 1)).seal(JSON.stringify(content), emailContext({ id }));
    const expiresAt = new Date(Date.now() + 60_000);
    await queueEmails(database.pool, [
      { workspaceId: '', environment: '', id, recipient: 'a@example.com', sealed, expiresAt },
    ]);
    smtp.behave({ neverResponds: true });
    const worker = spawn(process.execPath, [
      fileURLToPath(new URL('./fixtures/email-worker.mjs', import.meta.url)),
      JSON.stringify({ databaseUrl: database.url, smtpUrl: smtp.url }),
    ]);
    const ended = once(worker, 'exit');
    await smtp.received(1);
    worker.kill('SIGKILL');
    await ended;
    smtp.behave({});
    const service = await started({ smtpUrl: smtp.url, given: database });
    // The email stays leased until the lease expires.
    const { rows } = await database.pool.query('select state, due_at > now() as leased from alerts.emails');
    expect(rows).toEqual([{ state: 'queued', leased: true }]);
    await database.pool.query('update alerts.emails set due_at = now()');
    const emails = await smtp.received(2);
    const messageIds = emails.map(({ raw }) => /^Message-ID: (.*)$/im.exec(raw)?.[1]);
    expect(messageIds).toEqual([`<${id}@example.com>`, `<${id}@example.com>`]);
    await waitUntil(
      async () => (await database.pool.query(`select from alerts.emails where state = 'sent'`)).rowCount === 1,
      {
        what: 'the sent state',
      },
    );
    expect(service.logged.some((line) => line.includes('email sent'))).toBe(true);
  });

  test('fails when it has expired or cannot be decrypted', async () => {
    const smtp = await receiver();
    const service = await started({ smtpUrl: smtp.url });
    const box = createSecretBox(Buffer.alloc(32, 9));
    const base = { workspaceId: '', environment: '' as const, recipient: 'a@example.com' };
    const sealed = createSecretBox(Buffer.alloc(32, 1)).seal('{}', emailContext({ id: 'mail_old' }));
    await queueEmails(service.database.pool, [
      { ...base, id: 'mail_old', sealed, expiresAt: new Date(Date.now() - 1) },
      {
        ...base,
        id: 'mail_strange',
        sealed: box.seal('{}', emailContext({ id: 'mail_strange' })),
        expiresAt: new Date(Date.now() + 60_000),
      },
    ]);
    await waitUntil(async () => (await service.rows()).filter(({ state }) => state === 'failed').length === 2, {
      what: 'both failures',
    });
    expect(smtp.emails()).toEqual([]);
  });

  test('errors about invalid settings do not contain the password', () => {
    for (const url of [
      'smtp://rms@mail.example.com',
      'smtp://rms:hidden@mail.example.com/path',
      'smtp://:hidden@mail.example.com',
      'smtp://rms:hidden@mail.example.com?tls.rejectUnauthorized=false',
      'smtp://rms:hidden@mail.example.com:465',
      'smtps://rms:hidden@mail.example.com:587',
    ]) {
      expect(() => readSmtpUrl(url, smtpOptions())).toThrow(/^(?!.*hidden).*SMTP_URL/);
    }
  });
});

test.each([
  [
    'smtps://AKIA:BK%2Fx%2B%3D@email-smtp.eu-west-1.amazonaws.com:465',
    { host: 'email-smtp.eu-west-1.amazonaws.com', port: 465, secure: true, user: 'AKIA', password: 'BK/x+=' },
  ],
  [
    'smtp://postmaster@mg.example.com:key@smtp.eu.mailgun.org:587',
    { host: 'smtp.eu.mailgun.org', port: 587, secure: false, user: 'postmaster@mg.example.com', password: 'key' },
  ],
  ['smtp://mail.example.com:2525', { host: 'mail.example.com', port: 2525, secure: false, user: undefined }],
])('%s is parsed', (url, parts) => {
  expect(readSmtpUrl(url, smtpOptions())).toMatchObject(parts);
});

describe('Account emails', () => {
  const linkToken = 'a-secret-token-of-32-bytes';

  test('are fetched from auth and sent once with their links; the tokens appear nowhere else', async () => {
    const smtp = await startSmtpReceiver();
    const service = await startAlerts({ smtpUrl: smtp.url });
    const expireTime = timestampFromMs(Date.now() + 3_600_000);
    service.auth.losesDeletes = true;
    service.auth.emails = [
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
        content: { case: 'security', value: { change: SecurityEmail_Change.PASSWORD_CHANGED, address: '192.0.2.7' } },
      },
      {
        id: 'mlr_5',
        to: 'current@example.com',
        content: { case: 'security', value: { change: SecurityEmail_Change.EMAIL_CHANGE_REQUESTED } },
      },
      { id: 'mlr_4', to: 'two@example.com, three@example.com', content: { case: 'passwordReset', value: {} } },
    ];
    const emails = await smtp.received(4);
    await waitUntil(() => service.auth.emails.length === 0, { what: 'all to be fetched' });
    const textTo = (address: string) =>
      emails.filter(({ to }) => to.includes(address)).map(({ raw }) => raw.replace(/=\r\n/g, '').replace(/=3D/g, '='));
    expect(textTo('new@example.com')[0]).toContain(`https://dashboard.example.com/invitation#${linkToken}`);
    expect(textTo('new@example.com')[0]).toContain(
      'boss@example.com has invited you to join the workspace Acme as admin.',
    );
    expect(textTo('old@example.com').join()).toContain('https://dashboard.example.com/password-reset#reset-token');
    expect(textTo('old@example.com').join()).toContain('Your password was changed from 192.0.2.7.');
    const notice = textTo('current@example.com').join();
    expect(notice).toContain('Subject: A change of the email address of your account was requested');
    expect(notice).toContain('choose a new password immediately. This cancels the change and ends all sessions.');
    expect(notice).not.toContain('/email-change');
    expect(textTo('old@example.com').join()).not.toMatch(/List-Unsubscribe/i);
    await waitUntil(
      async () => (await service.database.pool.query(`select from alerts.emails where state = 'sent'`)).rowCount === 4,
      { what: 'the sent state of all emails' },
    );
    expect(smtp.emails()).toHaveLength(4);
    expect(service.logged.join('')).not.toContain(linkToken);
    expect(service.logged.some((line) => line.includes('mlr_4'))).toBe(true);
    await service.stop();
    await smtp.stop();
  });

  test('are encrypted while they are queued', async () => {
    const service = await startAlerts();
    service.auth.emails = [
      { id: 'mlr_1', to: 'new@example.com', content: { case: 'passwordReset', value: { token: linkToken } } },
    ];
    const row = await waitUntil(
      async () => (await service.database.pool.query('select m::text as row from alerts.emails as m')).rows[0],
      { what: 'the email' },
    );
    expect(row.row).not.toContain(Buffer.from(linkToken).toString('hex'));
    expect(service.logged.some((line) => line.includes('emails stay queued'))).toBe(true);
    await service.stop();
  });
});

describe('Without an SMTP server', () => {
  test('emails are written to files that only the owner can read, and the log names the files', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rms-email-'));
    const emailFolder = join(folder, 'emails');
    const service = await start({ emailFolder });
    await service.send();
    await service.inState('sent');
    const [file = ''] = readdirSync(emailFolder);
    expect(file).toMatch(/^ntf_.*\.eml$/);
    const raw = readFileSync(join(emailFolder, file), 'utf8');
    expect(raw).toMatch(/^To: owner@example\.com\r$/m);
    expect(raw).toMatch(/^Subject: =\?UTF-8\?Q\?Test=3A_Monthly_quota/m);
    expect(statSync(join(emailFolder, file)).mode & 0o077).toBe(0);
    expect(service.logged.some((line) => line.includes(file))).toBe(true);
    await service.stop();
    rmSync(folder, { recursive: true });
  });
});

describe.each([
  ['ahead', 30 * 86_400_000],
  ['behind', -30 * 86_400_000],
])('An instance whose clock is %s', (_, byMs) => {
  test('sends emails, which expire by the clock of the database', async () => {
    const smtp = await startSmtpReceiver();
    const service = await start({ smtpUrl: smtp.url });
    const restore = shiftClock(byMs);
    try {
      await service.send();
      await smtp.received(1);
      const { rows } = await service.database.pool.query<{ days: number }>(
        'select round(extract(epoch from expires_at - created_at) / 86400)::float8 as days from alerts.emails',
      );
      expect(rows).toEqual([{ days: 3 }]);
    } finally {
      restore();
      await service.stop();
      await smtp.stop();
    }
  });
});
