// A mail server that behaves as it is told, in a process of its own. Its settings are its argument, in JSON.
import { openSync, readFileSync, writeSync } from 'node:fs';
import { SMTPServer } from 'smtp-server';
import type { ReceivedMail, SmtpPlan, SmtpSettings } from './plan.ts';

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
  // Without TLS at all a password is asked for as well: whoever sends it in clear is found out.
  allowInsecureAuth: tls === undefined,
  closeTimeout: 100,
  onAuth({ username, password }, _, done) {
    const known = login && username === login.user && password === login.password;
    if (known) done(null, { user: username });
    else done(refusal({ code: 535, text: 'wrong user or password' }));
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
      const { refuseMail, neverAnswers } = plan();
      if (refuseMail) return done(refusal(refuseMail));
      const { mailFrom, rcptTo } = session.envelope;
      const mail: ReceivedMail = {
        from: mailFrom ? mailFrom.address : '',
        to: rcptTo.map(({ address }) => address),
        raw: Buffer.concat(chunks).toString('utf8'),
        secure: session.secure,
        user: typeof session.user === 'string' ? session.user : '',
      };
      // In the file before it is answered: a kill takes nothing of it away.
      writeSync(recordFile, `${JSON.stringify(mail)}\n`);
      if (!neverAnswers) done(null);
    });
  },
});
// Clients that give up are what this program is for.
server.on('error', () => {});
server.listen(port, '127.0.0.1', () => process.stdout.write('listening\n'));
