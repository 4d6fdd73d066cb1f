import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { AlertKind } from '@rms/proto/rms/alerts/v1/alert_pb';
import { TestEmailState } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { createLogger } from '@rms/runtime/logging';
import { readSettings } from '@rms/runtime/settings';
import { type SmtpReceiver, serveNames, startSmtpReceiver, waitUntil } from '@rms/testkit';
import { readAlertsConfig } from '../src/config.ts';
import { defaultEhloName } from '../src/email/ehlo-name.ts';
import { createSmtpDelivery, readSmtpUrl, type SmtpOptions } from '../src/email/smtp.ts';
import { isFinalRefusal } from '../src/email/smtp-refusal.ts';
import { alertsDatabase, newTenant, smtpOptions, startAlerts } from './support.ts';

const kind = AlertKind.QUOTA;
const silent = createLogger({ name: 'test', level: 'silent' });
const { QUEUED, SENT, FAILED } = TestEmailState;
const outgoing = {
  id: 'mail_1',
  from: 'rms@example.com',
  to: 'a@example.com',
  raw: Buffer.from('Subject: x\r\n\r\nhello\r\n'),
};

test.each([
  ['RCPT TO', '550 5.1.1 <a@example.com>: no such user', true],
  ['RCPT TO', '553 5.1.3 bad address', true],
  ['RCPT TO', '552 5.2.2 mailbox full', true],
  ['RCPT TO', '550 5.2.1 mailbox disabled', true],
  ['RCPT TO', '550 no such user', true],
  ['RCPT TO', '551 user not local', true],
  ['RCPT TO', '550-no such user\r\n550 ask the postmaster', true],
  ['RCPT TO', '554 5.7.1 <a@example.com>: relay access denied', false],
  ['RCPT TO', '550 5.7.1 relaying denied', false],
  ['RCPT TO', '550 5.7.26 unauthenticated sender', false],
  ['RCPT TO', '554 relay access denied', false],
  ['RCPT TO', '530 5.7.0 authentication required', false],
  ['RCPT TO', '550 5.1.8 unknown sender domain', false],
  ['RCPT TO', '550 5.4.1 access denied', false],
  ['RCPT TO', '503 bad sequence', false],
  ['RCPT TO', '450 4.2.0 greylisted', false],
  ['MAIL FROM', '530 5.7.0 must issue a STARTTLS command first', false],
  ['MAIL FROM', '550 5.7.60 client may not send as this sender', false],
  ['MAIL FROM', '553 sender rejected', false],
  ['MAIL FROM', '550 5.1.7 invalid sender', false],
  ['MAIL FROM', '552 5.3.4 message too big', true],
  ['MAIL FROM', '552 too big', true],
  ['DATA', '554 5.6.0 message contains errors', true],
  ['DATA', '552 5.3.4 message too big', true],
  ['DATA', '554 rejected content', true],
  ['DATA', '550 5.7.1 blocked as spam', false],
  ['DATA', '554 5.7.0 not allowed', false],
  ['DATA', '550 administrative prohibition', false],
  ['DATA', '451 4.3.0 try again later', false],
  ['EHLO', '550 invalid name', false],
  ['CONN', '554 no service for your address', false],
  ['AUTH PLAIN', '535 5.7.8 authentication failed', false],
  ['STARTTLS', '500 unknown command', false],
])('a rejection of %s with "%s" is final: %s', (command, reply, isFinal) => {
  expect(isFinalRefusal({ command, reply })).toBe(isFinal);
});

test.each([
  ['rms-alerts-7d9f8-x2k4', 'rms@Mail.example.com', 'mail.example.com'],
  ['node-1.example.org', 'rms@example.com', 'node-1.example.org'],
  ['localhost', 'rms@example.com', 'example.com'],
  ['laptop.local', 'rms@example.com', 'example.com'],
  ['ip-10-0-0-1.eu-west-1.compute.internal', 'rms@example.com', 'example.com'],
  ['host.localdomain', 'rms@example.com', 'example.com'],
  ['192.0.2.1', 'rms@example.com', 'example.com'],
  ['', 'rms@example.com', 'example.com'],
])('on host "%s", the EHLO name for %s is %s', (hostname, sender, name) => {
  expect(defaultEhloName(hostname, sender)).toBe(name);
});

describe('Settings of the SMTP server', () => {
  const read = (env: Record<string, string>) =>
    readAlertsConfig(
      readSettings({
        ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
        SMTP_URL: 'smtp://mail.example.com',
        EMAIL_FROM: 'rms <rms@example.com>',
        ...env,
      }),
    ).smtp?.({ info() {}, error() {} });

  test('have safe defaults', () => {
    expect(read({})).toMatchObject({
      tls: 'opportunistic',
      ehloName: expect.stringMatching(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/),
    });
    expect(read({ SMTP_EHLO_NAME: 'node.example.org', SMTP_TLS: 'required' })).toMatchObject({
      tls: 'required',
      ehloName: 'node.example.org',
    });
    expect(read({ SMTP_EHLO_NAME: '[IPv6:2001:db8::1]' })?.ehloName).toBe('[IPv6:2001:db8::1]');
  });

  test.each([
    [{ SMTP_TLS: 'sometimes' }, /^SMTP_TLS/],
    [{ SMTP_TLS: '', SMTP_EHLO_NAME: '[127.0.0.1]' }, /^SMTP_EHLO_NAME/],
    [{ SMTP_EHLO_NAME: 'a name' }, /^SMTP_EHLO_NAME/],
    [{ SMTP_EHLO_NAME: 'a.example\r\nMAIL FROM:<x@example.com>' }, /^SMTP_EHLO_NAME/],
    [{ SMTP_TLS: 'none', SMTP_URL: 'smtps://mail.example.com' }, /^SMTP_TLS must not be "none"/],
    [{ SMTP_TLS: 'none', SMTP_URL: 'smtp://rms:hidden@mail.example.com' }, /^(?!.*hidden)SMTP_TLS must not be "none"/],
  ])('%p is rejected at startup', (env, message) => {
    expect(() => read(env)).toThrow(message);
  });
});

describe('A conversation with an SMTP server', () => {
  const receivers: SmtpReceiver[] = [];
  const receiver = async (options: Parameters<typeof startSmtpReceiver>[0] = {}) => {
    const smtp = await startSmtpReceiver(options);
    receivers.push(smtp);
    return smtp;
  };
  afterEach(async () => {
    for (const smtp of receivers.splice(0)) await smtp.stop();
  });
  const deliver = (smtp: SmtpReceiver, options: Partial<SmtpOptions> = {}) =>
    createSmtpDelivery(readSmtpUrl(smtp.url, smtpOptions(options)), silent)(outgoing);

  test('starts with the configured name; the last reply of the server is returned', async () => {
    const smtp = await receiver();
    expect(await deliver(smtp, { ehloName: 'node.example.org' })).toEqual({
      outcome: 'sent',
      reply: expect.stringMatching(/^250 /),
    });
    expect(await smtp.received(1)).toMatchObject([{ ehloName: 'node.example.org', secure: false }]);
  });

  test('with a server whose certificate is internal, follows SMTP_TLS', async () => {
    const smtp = await receiver({ tls: 'starttls' });
    const ca = readFileSync(smtp.caFile);
    expect((await deliver(smtp)).outcome).toBe('sent');
    expect(await deliver(smtp, { tls: 'required' })).toMatchObject({
      outcome: 'try_again',
      error: expect.stringMatching(/certificate/i),
    });
    expect((await deliver(smtp, { tls: 'required', ca })).outcome).toBe('sent');
    expect((await deliver(smtp, { tls: 'none' })).outcome).toBe('sent');
    expect((await smtp.received(3)).map(({ secure }) => secure)).toEqual([true, true, false]);
  });

  test('verifies the certificate in opportunistic mode if there is a CA', async () => {
    const smtp = await receiver({ tls: 'starttls', wrongName: true });
    expect((await deliver(smtp, { ca: readFileSync(smtp.caFile) })).outcome).toBe('try_again');
    expect(smtp.emails()).toEqual([]);
  });

  test('sends nothing to a server without TLS if TLS is required', async () => {
    const smtp = await receiver();
    expect(await deliver(smtp, { tls: 'required' })).toMatchObject({ outcome: 'try_again' });
    expect(smtp.emails()).toEqual([]);
  });
});

test('emails that a wrong setting delays are counted, a test email shows the reply, and all are sent later', async () => {
  const smtp = await startSmtpReceiver();
  const service = await startAlerts({ smtpUrl: smtp.url });
  const { workspaceId, environment } = newTenant();
  service.auth.addWorkspace(workspaceId, 'Acme', 'owner@example.com');
  const test = async () => (await service.alerts.testRule({ workspaceId, environment, kind })).emails;
  const status = async (workspace = workspaceId) => {
    const { waiting, lastError } = await service.alerts.getEmailStatus({ workspaceId: workspace });
    return { waiting, lastError };
  };
  const none = { waiting: 0, lastError: '' };
  const address = 'owner@example.com';
  expect(await test()).toMatchObject([{ address, state: SENT, reply: expect.stringMatching(/^250 /) }]);
  expect(await status()).toEqual(none);

  smtp.behave({ refuseSender: { code: 530, text: '5.7.0 Must issue a STARTTLS command first' } });
  const reply = 'MAIL FROM refused: 530 5.7.0 Must issue a STARTTLS command first';
  expect(await test()).toMatchObject([{ address, state: QUEUED, reply }]);
  smtp.behave({ refuseRecipient: { code: 554, text: '5.7.1 <owner@example.com>: Relay access denied' } });
  expect(await test()).toMatchObject([
    { address, state: QUEUED, reply: expect.stringContaining('<owner@example.com>') },
  ]);
  expect(await status()).toEqual({ waiting: 2, lastError: 'RCPT TO refused: 554 5.7.1 <…>: Relay access denied' });
  expect([await status('ws_other'), await status('')]).toEqual([none, none]);

  smtp.behave({ refuseRecipient: { code: 550, text: '5.1.1 no such user' } });
  expect(await test()).toMatchObject([{ state: FAILED, reply: 'RCPT TO refused: 550 5.1.1 no such user' }]);
  expect((await status()).waiting).toBe(2);

  smtp.behave({});
  await service.database.pool.query(`update alerts.emails set due_at = now() where state = 'queued'`);
  await smtp.received(3);
  await waitUntil(async () => (await status()).waiting === 0, { what: 'all emails to be sent' });
  expect(await status()).toEqual(none);
  await service.stop();
  await smtp.stop();
});

test('waiting emails are sent immediately after a restart, and after the next successful email', async () => {
  const smtp = await startSmtpReceiver();
  const given = await alertsDatabase();
  const { workspaceId, environment } = newTenant();
  const start = async () => {
    const service = await startAlerts({ smtpUrl: smtp.url, given });
    service.auth.addWorkspace(workspaceId, 'Acme', 'owner@example.com');
    return service;
  };
  const first = await start();
  smtp.behave({ refuseSender: { code: 535, text: '5.7.8 login first' } });
  for (let i = 0; i < 3; i += 1) await first.alerts.testRule({ workspaceId, environment, kind });
  const delay = `update alerts.emails set due_at = now() + interval '20 minutes' where state = 'queued'`;
  await given.pool.query(delay);
  smtp.behave({});
  await given.pool.query('update alerts.emails set due_at = now() where id = (select min(id) from alerts.emails)');
  await smtp.received(3);
  smtp.behave({ refuseSender: { code: 535, text: '5.7.8 login first' } });
  await first.alerts.testRule({ workspaceId, environment, kind });
  await given.pool.query(delay);
  await first.stop();
  smtp.behave({});
  const second = await start();
  await smtp.received(4);
  await second.stop();
  await given.drop();
  await smtp.stop();
});

test('the next email is sent to the new address of a server that has moved', async () => {
  /** Addresses of the servers that accepted an email, in order. */
  const accepted: string[] = [];
  const relays: Server[] = [];
  const listenOn = async (address: string, port: number) => {
    const relay = createServer((socket) => {
      socket.write('220 relay\r\n');
      let isData = false;
      socket.on('data', (chunk) => {
        const text = chunk.toString();
        if (isData && text.includes('\r\n.\r\n')) {
          isData = false;
          accepted.push(address);
          return socket.write('250 accepted\r\n');
        }
        if (isData) return undefined;
        isData = text.startsWith('DATA');
        return socket.write(isData ? '354 go on\r\n' : '250 ok\r\n');
      });
      socket.on('error', () => {});
    });
    relays.push(relay);
    await once(relay.listen(port, address), 'listening');
    return (relay.address() as AddressInfo).port;
  };
  const port = await listenOn('127.0.0.2', 0);
  await listenOn('127.0.0.3', port);
  const served: Record<string, string[]> = { 'relay.example': ['127.0.0.2'] };
  const removeNames = serveNames(served);
  const config = readSmtpUrl(`smtp://relay.example:${port}`, smtpOptions({ tls: 'none' }));
  const deliver = createSmtpDelivery(config, silent);
  try {
    expect(await deliver(outgoing)).toMatchObject({ outcome: 'sent' });
    served['relay.example'] = ['127.0.0.3'];
    expect(await deliver(outgoing)).toMatchObject({ outcome: 'sent' });
    expect(accepted).toEqual(['127.0.0.2', '127.0.0.3']);
  } finally {
    removeNames();
    for (const relay of relays) relay.close();
  }
});
