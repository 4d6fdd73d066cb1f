// An SMTP server with configurable behavior, in its own process. Its argument is the settings as JSON.
import { openSync, readFileSync, writeSync } from 'node:fs';
import { SMTPServer } from 'smtp-server';
import type { ReceivedEmail, SmtpPlan, SmtpSettings } from './plan.ts';

const settings = JSON.parse(process.argv[2] ?? '') as SmtpSettings;
const { port, secure, tls, login } = settings;
const plan = () => JSON.parse(readFileSync(settings.planFile, 'utf8')) as SmtpPlan;
const recordFile = openSync(settings.recordFile, 'a');

const refusal = ({ code, text }: { code: number; text: string }) =>
  Object.assign(new Error(text), { responseCode: code });

const server = new SMTPServer({
  secure,
  ...(tls ? { cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) } : {}),
  disabledCommands: [...(login ? [] : ['AUTH']), ...(tls ? [] : ['STARTTLS'])],
  authOptional: login === undefined,
  // Accepts passwords without TLS, too, so that tests detect a client that sends its password unencrypted.
  allowInsecureAuth: tls === undefined,
  closeTimeout: 100,
  onAuth({ username, password }, _, done) {
    const known = login && username === login.user && password === login.password;
    if (known) done(null, { user: username });
    else done(refusal({ code: 535, text: 'wrong user name or password' }));
  },
  onMailFrom(_address, _session, done) {
    const { refuseSender } = plan();
    done(refuseSender ? refusal(refuseSender) : null);
  },
  onRcptTo(_address, _session, done) {
    const { refuseRecipient } = plan();
    done(refuseRecipient ? refusal(refuseRecipient) : null);
  },
  onData(stream, session, done) {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      const { refuseEmail, neverResponds } = plan();
      if (refuseEmail) return done(refusal(refuseEmail));
      const { mailFrom, rcptTo } = session.envelope;
      const email: ReceivedEmail = {
        from: mailFrom ? mailFrom.address : '',
        to: rcptTo.map(({ address }) => address),
        raw: Buffer.concat(chunks).toString('utf8'),
        secure: session.secure,
        user: typeof session.user === 'string' ? session.user : '',
        ehloName: session.hostNameAppearsAs,
      };
      // Written synchronously before the response, so that a kill loses no email.
      writeSync(recordFile, `${JSON.stringify(email)}\n`);
      if (!neverResponds) done(null);
    });
  },
});
// Clients that give up are expected.
server.on('error', () => {});
server.listen(port, '127.0.0.1', () => process.stdout.write('listening\n'));
