// npm start: the whole service in this process, on an embedded PostgreSQL.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PrepareError, prepare, root } from './lib/prepare.mjs';

try {
  prepare();
} catch (error) {
  if (!(error instanceof PrepareError)) throw error;
  process.stderr.write(`rms: ${error.message}\n`);
  process.exit(1);
}
await import(pathToFileURL(join(root, 'standalone', 'dist', 'main.js')).href);
