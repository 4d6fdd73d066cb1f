import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeCertificates } from '../certificates/certificates.ts';
import { freePort } from '../free-port.ts';
import { startProgram } from '../servers/program.ts';
import { inTemporaryFolder } from '../servers/temporary-folder.ts';
import { programEnv, root } from '../shapes/program-env.ts';
import {
  type Behavior,
  type ListenerName,
  listenerNames,
  type ReadRecord,
  type ReceiverPlan,
  type ReceiverRecord,
  type ReceiverSettings,
} from './behavior.ts';

/** A misbehaving webhook receiver on loopback, in its own process. */
export interface HostileReceiver {
  readonly pid: number;
  /** Returns a path's URL on a listener. */
  url(path: string, listener?: ListenerName): string;
  readonly ports: Readonly<Record<ListenerName, number>>;
  /** CA that signs the certificates of all listeners except `selfSigned`. It is not among the public CAs. */
  readonly caFile: string;
  /** Sets the behavior for a path; it survives a restart. Default: 200 immediately. */
  behave(path: string, behavior: Behavior): Promise<void>;
  /** Sets the secret for deliveries to a path; later deliveries are verified. */
  expectSecret(path: string, secret: string): Promise<void>;
  /** Returns all records, including records from before a kill. */
  records(): ReceiverRecord[];
  /** Returns a path's requests, in order. */
  requests(path: string): ReadRecord[];
  /** Returns the number of open connections. */
  connections(): Promise<number>;
  /** Stops the process with SIGSTOP: the system accepts connections up to the backlog, and nothing responds. */
  pause(): void;
  resume(): void;
  /** Kills the process with SIGKILL. */
  kill(): Promise<void>;
  /** Restarts the process on the same ports; it appends to the same records. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface HostileReceiverOptions {
  /** Enabled listeners; default: http only. */
  readonly listeners?: readonly ListenerName[];
  /** Maximum number of connections that wait to be accepted. */
  readonly backlog?: number;
}

const withCertificates: readonly ListenerName[] = ['https', 'expired', 'wrongName', 'selfSigned', 'oldTls'];

export function startHostileReceiver(options: HostileReceiverOptions = {}): Promise<HostileReceiver> {
  const { listeners = ['http'], backlog = 511 } = options;
  return inTemporaryFolder('hostile-receiver', async (folder) => {
    const recordFile = join(folder.path, 'records');
    const planFile = join(folder.path, 'plan.json');
    const caFolder = join(folder.path, 'ca');
    const tls = listeners.some((name) => withCertificates.includes(name)) ? issueCertificates(caFolder) : {};
    const ports = Object.fromEntries(listenerNames.map((name) => [name, 0])) as Record<ListenerName, number>;
    for (const name of listeners) ports[name] = await freePort();
    const controlPort = await freePort();
    const settings: ReceiverSettings = { ports, controlPort, recordFile, planFile, backlog, tls };

    let plan: ReceiverPlan = { behaviors: {}, secrets: {} };
    const writePlan = () => writeFileSync(planFile, JSON.stringify(plan));
    writePlan();
    const program = await startProgram({
      name: 'the hostile receiver',
      command: process.execPath,
      args: [join(root, 'packages', 'testkit', 'src', 'hostile', 'main.ts'), JSON.stringify(settings)],
      env: programEnv({}),
      outputFile: join(folder.path, 'output'),
      ready: (output) => output.includes('listening'),
    });
    let running = true;
    const ask = async (method: 'GET' | 'POST') => {
      const response = await fetch(`http://127.0.0.1:${controlPort}/`, { method, signal: AbortSignal.timeout(60_000) });
      return (await response.json()) as { connections: number };
    };
    const change = async (changed: ReceiverPlan) => {
      plan = changed;
      writePlan();
      if (running) await ask('POST');
    };
    const records = () => readRecords(recordFile);
    return {
      get pid() {
        return program.pid;
      },
      url: (path, listener = 'http') =>
        `${listener === 'http' ? 'http' : 'https'}://127.0.0.1:${ports[listener]}${path}`,
      ports,
      caFile: join(caFolder, 'ca.pem'),
      behave: (path, behavior) => change({ ...plan, behaviors: { ...plan.behaviors, [path]: behavior } }),
      expectSecret: (path, secret) => change({ ...plan, secrets: { ...plan.secrets, [path]: secret } }),
      records,
      requests: (path) => records().filter((one): one is ReadRecord => one.kind === 'read' && one.path === path),
      connections: async () => (await ask('GET')).connections,
      pause: program.pause,
      resume: program.resume,
      async kill() {
        running = false;
        await program.kill();
      },
      async restart() {
        await program.restart();
        running = true;
      },
      async stop() {
        await program.kill();
        folder.remove();
      },
    };
  });
}

/** Skips an incomplete last line, which a kill can leave behind. */
function readRecords(file: string): ReceiverRecord[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as ReceiverRecord);
}

function issueCertificates(folder: string): ReceiverSettings['tls'] {
  const trusted = makeCertificates(folder);
  const untrusted = makeCertificates(`${folder}-stranger`);
  return {
    https: trusted.issue('good'),
    expired: trusted.issue('expired', { days: -1 }),
    wrongName: trusted.issue('elsewhere', { sans: ['elsewhere.example'] }),
    selfSigned: { certFile: untrusted.caFile, keyFile: untrusted.caKeyFile },
    oldTls: trusted.issue('old'),
  };
}
