import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeCertificates } from '../certificates.ts';
import { freePort } from '../free-port.ts';
import { startProgram } from '../servers/program.ts';
import { inTemporaryFolder } from '../servers/temporary-folder.ts';
import { programEnv, root } from '../shapes/program-env.ts';
import { waitUntil } from '../wait-until.ts';
import type { ReceivedMail, SmtpPlan, SmtpSettings } from './plan.ts';

/** A mail server on loopback, in a process of its own. */
export interface SmtpReceiver {
  /** smtp:// or smtps://, with the login if there is one. */
  readonly url: string;
  readonly port: number;
  /** Signs its certificate; trusted by nobody else. Empty: it has none. */
  readonly caFile: string;
  /** How to treat what comes from now on; {}: take it. */
  behave(plan: SmtpPlan): void;
  /** All that it has written down, also before it was killed. */
  mails(): ReceivedMail[];
  /** Waits until so many mails have come, and returns them. */
  received(count: number, timeoutMs?: number): Promise<ReceivedMail[]>;
  /** Freezes it: nothing is answered. */
  pause(): void;
  resume(): void;
  /** kill -9. */
  kill(): Promise<void>;
  /** Starts it on the same port. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface SmtpReceiverOptions {
  /** None at all, STARTTLS, or from the first byte; default: none. */
  readonly tls?: 'none' | 'starttls' | 'from-the-start';
  /** Its certificate is for another name. */
  readonly wrongName?: boolean;
  readonly login?: { readonly user: string; readonly password: string };
}

export function startSmtpReceiver(options: SmtpReceiverOptions = {}): Promise<SmtpReceiver> {
  const { tls = 'none', wrongName = false, login } = options;
  return inTemporaryFolder('smtp', async (folder) => {
    const recordFile = join(folder.path, 'records');
    const planFile = join(folder.path, 'plan.json');
    const authority = tls === 'none' ? undefined : makeCertificates(join(folder.path, 'ca'));
    const port = await freePort();
    const secure = tls === 'from-the-start';
    const settings: SmtpSettings = {
      port,
      recordFile,
      planFile,
      secure,
      tls: authority?.issue('mail', wrongName ? { sans: ['elsewhere.example'] } : {}),
      login,
    };
    const behave = (plan: SmtpPlan) => writeFileSync(planFile, JSON.stringify(plan));
    behave({});
    const program = await startProgram({
      name: 'the mail server',
      command: process.execPath,
      args: [join(root, 'packages', 'testkit', 'dist', 'smtp', 'main.js'), JSON.stringify(settings)],
      env: programEnv({}),
      outputFile: join(folder.path, 'output'),
      ready: async (output) => output.includes('listening'),
    });
    const mails = () => readMails(recordFile);
    const user = login ? `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}@` : '';
    return {
      url: `${secure ? 'smtps' : 'smtp'}://${user}127.0.0.1:${port}`,
      port,
      caFile: authority?.caFile ?? '',
      behave,
      mails,
      received: (count, timeoutMs = 20_000) =>
        waitUntil(() => (mails().length >= count ? mails() : undefined), { what: `${count} mails`, timeoutMs }),
      pause: program.pause,
      resume: program.resume,
      kill: program.kill,
      restart: program.restart,
      async stop() {
        await program.kill();
        folder.remove();
      },
    };
  });
}

/** A line that a kill has cut is none. */
function readMails(file: string): ReceivedMail[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as ReceivedMail);
}
