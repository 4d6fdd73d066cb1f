import { CommanderError } from 'commander';
import { describeFailure } from './failure.ts';
import { note } from './print.ts';
import { createProgram, helpfulWords } from './program.ts';

/** Runs the command that `words` name, without the word `rms`. If it fails, prints why and sets the exit code. */
export async function run(words: readonly string[]): Promise<void> {
  // The scripts of `rms completion` call this. The words are a command line that is not complete.
  if (words[0] === 'complete') return complete(words.slice(1));
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

/** Prints the candidates for the last word of a command line: one per line, with a tab before its description. */
async function complete(words: readonly string[]): Promise<void> {
  const { candidatesOf } = await import('./candidates.ts');
  const found = candidatesOf(await createProgram(words), words);
  process.stdout.write(found.map(({ word, about }) => `${word}\t${about}\n`).join(''));
}
