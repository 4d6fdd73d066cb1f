import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeCertificates } from '../certificates/certificates.ts';
import { freePort } from '../free-port.ts';
import { startProgram } from '../servers/program.ts';
import { inTemporaryFolder } from '../servers/temporary-folder.ts';
import { programEnv, root } from '../shapes/program-env.ts';
import { waitUntil } from '../wait-until.ts';
import type { ReceivedEmail, SmtpPlan, SmtpSettings } from './plan.ts';

/** An SMTP server on loopback, in its own process. */
export interface SmtpReceiver {
  /** smtp:// or smtps://, including the login if set. */
  readonly url: string;
  readonly port: number;
  /** CA that signs the server's certificate; not among the public CAs. Empty without TLS. */
  readonly caFile: string;
  /** Sets the behavior; {} accepts everything. */
  behave(plan: SmtpPlan): void;
  /** Returns all received emails, including emails from before a kill. */
  emails(): ReceivedEmail[];
  /** Waits until `count` emails have arrived, and returns all of them. */
  received(count: number): Promise<ReceivedEmail[]>;
  /** Stops the process with SIGSTOP: nothing responds. */
  pause(): void;
  resume(): void;
  /** Kills the process with SIGKILL. */
  kill(): Promise<void>;
  /** Restarts the process on the same port. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface SmtpReceiverOptions {
  /** No TLS, STARTTLS, or TLS from the first byte; default: none. */
  readonly tls?: 'none' | 'starttls' | 'from-the-start';
  /** Whether the certificate is for another name. */
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
      tls: authority?.issue('smtp', wrongName ? { sans: ['elsewhere.example'] } : {}),
      login,
    };
    const behave = (plan: SmtpPlan) => writeFileSync(planFile, JSON.stringify(plan));
    behave({});
    const program = await startProgram({
      name: 'the SMTP server',
      command: process.execPath,
      args: [join(root, 'packages', 'testkit', 'src', 'smtp', 'main.ts'), JSON.stringify(settings)],
      env: programEnv({}),
      outputFile: join(folder.path, 'output'),
      ready: async (output) => output.includes('listening'),
    });
    const emails = () => readEmails(recordFile);
    const user = login ? `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}@` : '';
    return {
      url: `${secure ? 'smtps' : 'smtp'}://${user}127.0.0.1:${port}`,
      port,
      caFile: authority?.caFile ?? '',
      behave,
      emails,
      received: (count) =>
        waitUntil(() => (emails().length >= count ? emails() : undefined), { what: `${count} emails` }),
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

/** Skips an incomplete last line, which a kill can leave behind. */
function readEmails(file: string): ReceivedEmail[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as ReceivedEmail);
}
