#!/usr/bin/env node
import { run } from './run.ts';

// The reader of stdout closed the pipe (`rms … | head`).
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

await run(process.argv.slice(2));
