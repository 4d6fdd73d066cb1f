import { join } from 'node:path';
import { stopLeftover } from '@rms/embedded-postgres';
import { freePort } from '../free-port.ts';
import { startProgram } from '../servers/program.ts';
import { temporaryFolder } from '../servers/temporary-folder.ts';
import { programEnv, root } from './program-env.ts';
import { isReady } from './readiness.ts';
import { type RmsCommand, rmsCommand } from './rms-command.ts';

/** What `npm start` runs, on a data folder of its own. */
export interface Standalone {
  readonly liveUrl: string;
  readonly sandboxUrl: string;
  readonly dashboardUrl: string;
  readonly rms: RmsCommand;
  readonly pid: number;
  readonly dataDir: string;
  readonly env: NodeJS.ProcessEnv;
  /** What it has printed since its last start. */
  output(): string;
  /** kill -9 of Node; its PostgreSQL is left running, as on a laptop. */
  kill(): Promise<void>;
  /** Starts it on the same data, after ending it if it still runs. */
  restart(): Promise<void>;
  /** Ends it as Ctrl-C does, and removes its data unless they are to be kept for a restart. */
  stop(options?: { keepData?: boolean }): Promise<void>;
}

/** Starts scripts/start.mjs, which installs and builds what is missing, and waits until it is ready. */
export async function startStandalone({
  env = {},
}: {
  env?: Readonly<Record<string, string>>;
} = {}): Promise<Standalone> {
  const folder = temporaryFolder('standalone');
  const port = await freePort();
  const sandboxPort = await freePort();
  const dashboardPort = await freePort();
  const liveUrl = `http://127.0.0.1:${port}`;
  const settings = programEnv({
    ...env,
    HOST: '127.0.0.1',
    PORT: `${port}`,
    SANDBOX_PORT: `${sandboxPort}`,
    DASHBOARD_PORT: `${dashboardPort}`,
    DATA_DIR: folder.path,
  });
  const removeData = async () => {
    await stopLeftover(join(folder.path, 'postgres'));
    folder.remove();
  };
  const program = await startProgram({
    name: 'npm start',
    command: process.execPath,
    args: [join(root, 'scripts', 'start.mjs')],
    env: settings,
    outputFile: join(folder.path, 'output'),
    ready: (output) => output.includes('rms is ready') && isReady(liveUrl),
  }).catch(async (error: unknown) => {
    await removeData();
    throw error;
  });
  return {
    liveUrl,
    sandboxUrl: `http://127.0.0.1:${sandboxPort}`,
    dashboardUrl: `http://127.0.0.1:${dashboardPort}`,
    rms: rmsCommand(settings),
    get pid() {
      return program.pid;
    },
    dataDir: folder.path,
    env: settings,
    output: program.output,
    kill: program.kill,
    restart: program.restart,
    async stop({ keepData = false } = {}) {
      await program.terminate();
      if (!keepData) await removeData();
    },
  };
}
