import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { programEnv } from './program-env.ts';

/** Command line without `rms`, and the command's environment. */
export interface CommandRequest {
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** Output and exit code of a command. */
export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Process that runs `rms` commands. */
export interface Commands {
  /** Runs a command with the environment `env`, after the commands before it end. */
  run(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Outcome>;
  stop(): Promise<void>;
}

const main = join(import.meta.dirname, 'commands-main.ts');

/**
 * Runs `rms` commands in one process, one after another. To start a process per command would cost ten times as
 * much CPU. The process starts with the first command.
 */
export function startCommands(): Commands {
  let running: { child: ChildProcess; exited: Promise<unknown[]> } | undefined;
  let previous: Promise<unknown> = Promise.resolve();

  const start = async () => {
    const child = fork(main, { env: programEnv({}), stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    running = { child, exited: once(child, 'exit') };
    await once(child, 'message');
    return running;
  };
  const runNow = async (request: CommandRequest): Promise<Outcome> => {
    const { child, exited } = running ?? (await start());
    const answer = once(child, 'message') as Promise<[Outcome]>;
    child.send(request);
    const gone = exited.then(([code]) => {
      throw new Error(`rms ${request.args.join(' ')} exited the process with ${code}`);
    });
    const [outcome] = await Promise.race([answer, gone]);
    return outcome;
  };
  return {
    run(args, env) {
      const outcome = previous.then(() => runNow({ args, env }));
      previous = outcome.catch(() => {});
      return outcome;
    },
    async stop() {
      await previous;
      if (!running?.child.connected) return;
      running.child.disconnect();
      await running.exited;
    },
  };
}
