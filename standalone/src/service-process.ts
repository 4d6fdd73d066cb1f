import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** Service in its own process. */
export interface ServiceProcess {
  readonly name: string;
  /** Resolves when the process ends, with a description of how it ended. */
  readonly ended: Promise<string>;
  /** Sends SIGTERM so that the service drains, and SIGKILL after a timeout. */
  stop(): Promise<void>;
}

/** Longer than a service's own shutdown timeout. */
const killAfterMs = 30_000;
const nameWidth = 'resources'.length;

/** Starts services/<name>/src/main.ts and prefixes each line of its output with the service name. */
export function startServiceProcess(name: string, env: NodeJS.ProcessEnv): ServiceProcess {
  const main = fileURLToPath(import.meta.resolve(`@rms/${name}`)).replace(/index\.ts$/, 'main.ts');
  // Own process group: Ctrl-C must not reach the services directly, because they must stop in order.
  const child = spawn(process.execPath, [main], {
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  forward(name, child.stdout, process.stdout);
  forward(name, child.stderr, process.stderr);
  const ended = endOf(child);
  const killHard = () => child.kill('SIGKILL');
  process.once('exit', killHard);
  void ended.then(() => process.off('exit', killHard));
  return {
    name,
    ended,
    async stop() {
      child.kill('SIGTERM');
      const timer = setTimeout(killHard, killAfterMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

async function endOf(child: ChildProcess): Promise<string> {
  try {
    const [code, signal] = await once(child, 'exit');
    return signal ? `was terminated by ${signal}` : `exited with code ${code}`;
  } catch (error) {
    return `could not be started: ${(error as Error).message}`;
  }
}

function forward(name: string, from: NodeJS.ReadableStream, to: NodeJS.WritableStream): void {
  createInterface({ input: from }).on('line', (line) => to.write(`${name.padEnd(nameWidth)} | ${line}\n`));
}
