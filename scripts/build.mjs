// npm run build: bundles the pages of the dashboard. Services and the CLI run from their TypeScript sources.
import { ensureNode } from './lib/node.mjs';
import { PrepareError, prepare } from './lib/prepare.mjs';

await ensureNode();
try {
  prepare();
} catch (error) {
  if (!(error instanceof PrepareError)) throw error;
  process.stderr.write(`rms: ${error.message}\n`);
  process.exit(1);
}
