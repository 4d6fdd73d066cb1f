// node scripts/run.mjs SCRIPT [ARGUMENT …]: runs a script of this repository in this process, on a current Node. Only
// this file and lib/node.mjs need to load on an older Node: a script is imported once Node is current.
import { ensureNode } from './lib/node.mjs';

await ensureNode();
const [script] = process.argv.splice(2, 1);
await import(new URL(`../${script}`, import.meta.url).href);
