import { join } from 'node:path';
import { stopLeftover } from '@rms/local-postgres';
import { freePort } from '../free-port.ts';
import { startProgram } from '../servers/program.ts';
import { temporaryFolder } from '../servers/temporary-folder.ts';
import { startCommands } from './commands.ts';
import { programEnv, root } from './program-env.ts';
import { reportsReady } from './readiness.ts';
import { type RmsCommand, rmsCommand } from './rms-command.ts';

/** The standalone process that `npm start` runs, on its own data folder. */
export interface Standalone {
  readonly liveUrl: string;
  readonly sandboxUrl: string;
  readonly dashboardUrl: string;
  readonly rms: RmsCommand;
  readonly pid: number;
  readonly dataDir: string;
  readonly env: NodeJS.ProcessEnv;
  /** Returns the output since the last start. */
  output(): string;
  /** Kills Node with SIGKILL; its PostgreSQL keeps running, as on a laptop. */
  kill(): Promise<void>;
  /** Restarts the process on the same data; terminates it first if it is running. */
  restart(): Promise<void>;
  /** Terminates the process as Ctrl-C does. Removes its data unless `keepData` is set. */
  stop(options?: { keepData?: boolean }): Promise<void>;
}

/** Starts scripts/start.mjs, which installs and builds missing parts, and waits until it is ready. */
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
    ready: (output) => output.includes('rms is ready') && reportsReady(liveUrl),
  }).catch(async (error: unknown) => {
    await removeData();
    throw error;
  });
  const commands = startCommands();
  return {
    liveUrl,
    sandboxUrl: `http://127.0.0.1:${sandboxPort}`,
    dashboardUrl: `http://127.0.0.1:${dashboardPort}`,
    rms: rmsCommand(commands, settings),
    get pid() {
      return program.pid;
    },
    dataDir: folder.path,
    env: settings,
    output: program.output,
    kill: program.kill,
    restart: program.restart,
    async stop({ keepData = false } = {}) {
      await Promise.all([commands.stop(), program.terminate()]);
      if (!keepData) await removeData();
    },
  };
}
