// npm run test:newest-node: runs the API tests on the newest Node. Other suites use the installed Node, or the Node that
// scripts/node pins. The last line is "N passed, N failed".
import { spawnSync } from 'node:child_process';
import { delimiter, dirname, join } from 'node:path';
import { cannotRun } from './lib/cannot-run.mjs';
import { findNewestNode } from './lib/newest-node.mjs';
import { PrepareError, root } from './lib/prepare.mjs';

try {
  const node = findNewestNode();
  const files = ['standalone.test', 'standalone-events', 'standalone-guarded'].map((name) => `test/api/${name}`);
  const { status } = spawnSync(node, [join(root, 'scripts', 'test.mjs'), ...files], {
    cwd: root,
    env: { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` },
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
} catch (error) {
  if (!(error instanceof PrepareError)) throw error;
  process.exitCode = cannotRun('newest-node', error.message);
}
