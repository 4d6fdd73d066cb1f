import { allowSlowConnections } from '@rms/service';
import { CommanderError } from 'commander';
import { describeFailure } from './failure.ts';
import { note } from './print.ts';
import { createProgram, helpfulWords } from './program.ts';

// The reader of stdout closed the pipe (`rms … | head`).
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

allowSlowConnections();
try {
  const words = process.argv.slice(2);
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
