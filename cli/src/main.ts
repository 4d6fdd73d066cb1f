import { CommanderError } from 'commander';
import { describeFailure } from './failure.ts';
import { createProgram } from './program.ts';

try {
  await createProgram().parseAsync();
} catch (error) {
  // Commander has said what is wrong with the usage itself.
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
  else {
    process.stderr.write(`rms: ${describeFailure(error)}\n`);
    process.exitCode = 1;
  }
}
