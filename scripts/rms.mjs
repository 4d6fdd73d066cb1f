// npm run rms -- …: runs the `rms` command for operators. stdout contains only the output of the command.
import { runProgram } from './lib/run-program.mjs';

await runProgram('cli/src/main.ts', { pages: false });
