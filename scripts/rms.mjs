// npm run rms -- …: the operator's command. Its stdout is the command's output and nothing else.
import { runBuilt } from './lib/run-built.mjs';

await runBuilt('cli', 'dist', 'main.js');
