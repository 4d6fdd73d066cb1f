// npm run docs:pictures: regenerates the dashboard's pictures in docs/images with the browser tests.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from './lib/prepare.mjs';

const { status } = spawnSync(process.execPath, [join(root, 'scripts', 'test.mjs'), 'test/browser/pictures'], {
  stdio: 'inherit',
  env: { ...process.env, DOCS_PICTURES: '1' },
});
process.exit(status ?? 1);
