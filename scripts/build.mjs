// npm run build: bundles the dashboard's pages. Services and the CLI run from their TypeScript sources.
import { orExit, prepare } from './lib/prepare.mjs';

await orExit(() => prepare());
