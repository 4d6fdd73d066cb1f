// npm run rms -- …: runs the `rms` command for operators. stdout contains only the command's output.
import { runProgram } from './lib/run-program.mjs';

await runProgram('cli/src/main.ts', { pages: false });
