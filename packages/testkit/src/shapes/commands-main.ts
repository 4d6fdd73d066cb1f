// Runs commands that the parent process sends, one after another, as `rms` runs one. A command is complete when nothing
// that it has opened keeps the process alive, so a command that would not exit fails its test.
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { CommandRequest, Outcome } from './commands.ts';
import { root } from './program-env.ts';

const { run } = (await import(join(root, 'cli', 'src', 'run.ts'))) as { run(words: readonly string[]): Promise<void> };
let previous = Promise.resolve();

process.on('message', (request: CommandRequest) => {
  previous = previous.then(async () => {
    const outcome = await outcomeOf(request);
    process.send?.(outcome);
  });
});
process.on('disconnect', () => process.exit());
process.send?.('ready');

async function outcomeOf({ args, env }: CommandRequest): Promise<Outcome> {
  const texts = { stdout: '', stderr: '' };
  const { env: ownEnv } = process;
  process.env = env;
  process.exitCode = 0;
  const restore = (['stdout', 'stderr'] as const).map((name) => {
    const { write } = process[name];
    process[name].write = (chunk: Uint8Array | string) => {
      texts[name] += chunk;
      return true;
    };
    return () => {
      process[name].write = write;
    };
  });
  const idle = process.getActiveResourcesInfo().length;
  try {
    await run(args);
    while (process.getActiveResourcesInfo().length > idle) await delay(1);
    return { code: Number(process.exitCode), ...texts };
  } finally {
    for (const undo of restore) undo();
    process.env = ownEnv;
    process.exitCode = 0;
  }
}
