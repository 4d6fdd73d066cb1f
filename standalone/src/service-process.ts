import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** One service in a process of its own. */
export interface ServiceProcess {
  readonly name: string;
  /** Resolves when it has ended, with how. */
  readonly ended: Promise<string>;
  /** SIGTERM, so that it drains; SIGKILL when it takes too long. */
  stop(): Promise<void>;
}

/** Longer than a service gives itself. */
const killAfterMs = 30_000;
const nameWidth = 'resources'.length;

/** Starts services/<name>/dist/main.js; each line that it prints gets its name in front. */
export function startServiceProcess(name: string, env: NodeJS.ProcessEnv): ServiceProcess {
  const main = fileURLToPath(import.meta.resolve(`@rms/${name}`)).replace(/index\.js$/, 'main.js');
  // In a process group of its own: Ctrl-C must not reach all of them at once, for they drain in an order.
  const child = spawn(process.execPath, ['--enable-source-maps', main], {
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
    return signal ? `was ended by ${signal}` : `ended with exit code ${code}`;
  } catch (error) {
    return `could not be started: ${(error as Error).message}`;
  }
}

function forward(name: string, from: NodeJS.ReadableStream, to: NodeJS.WritableStream): void {
  createInterface({ input: from }).on('line', (line) => to.write(`${name.padEnd(nameWidth)} | ${line}\n`));
}
