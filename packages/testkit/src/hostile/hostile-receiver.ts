import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeCertificates } from '../certificates.ts';
import { freePort } from '../free-port.ts';
import { startProgram } from '../servers/program.ts';
import { inTemporaryFolder } from '../servers/temporary-folder.ts';
import { programEnv, root } from '../shapes/program-env.ts';
import {
  type Behaviour,
  type ListenerName,
  listenerNames,
  type ReadRecord,
  type ReceiverPlan,
  type ReceiverRecord,
  type ReceiverSettings,
} from './behaviour.ts';

/** A receiver of webhooks on loopback that behaves badly, in a process of its own. */
export interface HostileReceiver {
  readonly pid: number;
  /** The URL of a path at a listener; by name, so that certificates can be right. */
  url(path: string, listener?: ListenerName): string;
  readonly ports: Readonly<Record<ListenerName, number>>;
  /** Trusted by nobody else; signs the certificates of all listeners but `selfSigned`. */
  readonly caFile: string;
  /** How to treat the requests of a path from now on, also after a restart. Default: 200 at once. */
  behave(path: string, behaviour: Behaviour): Promise<void>;
  /** What the deliveries to a path are signed with; from then on they are verified. */
  expectSecret(path: string, secret: string): Promise<void>;
  /** All that it has written down, also before it was killed. */
  records(): ReceiverRecord[];
  /** The requests of a path, in order. */
  requests(path: string): ReadRecord[];
  /** Connections that are open now. */
  connections(): Promise<number>;
  /** Freezes it: connections are made by the system as long as its backlog lasts, and nothing answers. */
  pause(): void;
  resume(): void;
  /** kill -9. */
  kill(): Promise<void>;
  /** Starts it on the same ports, to go on in the same file. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface HostileReceiverOptions {
  /** Which of them listen; default: http only. */
  readonly listeners?: readonly ListenerName[];
  /** Connections that may wait to be accepted. */
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

    let plan: ReceiverPlan = { behaviours: {}, secrets: {} };
    const writePlan = () => writeFileSync(planFile, JSON.stringify(plan));
    writePlan();
    const program = await startProgram({
      name: 'the hostile receiver',
      command: process.execPath,
      args: [join(root, 'packages', 'testkit', 'dist', 'hostile', 'main.js'), JSON.stringify(settings)],
      env: programEnv({}),
      outputFile: join(folder.path, 'output'),
      ready: (output) => output.includes('listening'),
    });
    let running = true;
    const ask = async (method: 'GET' | 'POST') => {
      const response = await fetch(`http://127.0.0.1:${controlPort}/`, { method, signal: AbortSignal.timeout(5_000) });
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
      behave: (path, behaviour) => change({ ...plan, behaviours: { ...plan.behaviours, [path]: behaviour } }),
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

/** A line that a kill has cut is none. */
function readRecords(file: string): ReceiverRecord[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as ReceiverRecord);
}

function issueCertificates(folder: string): ReceiverSettings['tls'] {
  const trusted = makeCertificates(folder);
  const stranger = makeCertificates(`${folder}-stranger`);
  return {
    https: trusted.issue('good'),
    expired: trusted.issue('expired', { days: -1 }),
    wrongName: trusted.issue('elsewhere', { sans: ['elsewhere.example'] }),
    selfSigned: { certFile: stranger.caFile, keyFile: stranger.caKeyFile },
    oldTls: trusted.issue('old'),
  };
}
