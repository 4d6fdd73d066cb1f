import { CommanderError } from 'commander';
import { describeFailure } from './failure.ts';
import { note } from './print.ts';
import { createProgram, helpfulWords } from './program.ts';

/** Runs the command that `words` name, without the word `rms`. If it fails, prints why and sets the exit code. */
export async function run(words: readonly string[]): Promise<void> {
  try {
    const program = await createProgram(words);
    await program.parseAsync(helpfulWords(program, words), { from: 'user' });
  } catch (error) {
    // Commander has already printed the usage error.
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
    else {
      note(describeFailure(error));
      process.exitCode = 1;
    }
  }
}
