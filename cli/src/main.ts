import { CommanderError } from 'commander';
import { describeFailure } from './failure.ts';
import { note } from './print.ts';
import { createProgram } from './program.ts';

// Whoever reads our output has seen enough (`rms … | head`).
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

try {
  await createProgram().parseAsync();
} catch (error) {
  // Commander has said what is wrong with the usage itself.
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
  else {
    note(describeFailure(error));
    process.exitCode = 1;
  }
}
