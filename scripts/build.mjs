// npm run build: bundles the dashboard's pages. Services and the CLI run from their TypeScript sources.
import { ensureNode } from './lib/node.mjs';
import { orExit, prepare } from './lib/prepare.mjs';

await ensureNode();
await orExit(() => prepare());
