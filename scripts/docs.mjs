// npm run docs: builds the documentation site into docs/site/dist.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ensureTools, orExit, root } from './lib/prepare.mjs';

const site = join(root, 'docs', 'site');
const vitepress = join(site, 'node_modules', 'vitepress', 'bin', 'vitepress.js');

await orExit(() => ensureTools(site));
const { status } = spawnSync(process.execPath, [vitepress, 'build', '.'], { cwd: site, stdio: 'inherit' });
process.exitCode = status ?? 1;
