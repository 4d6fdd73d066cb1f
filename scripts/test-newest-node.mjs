// npm run test:newest-node: runs the API tests on the newest Node, which npm installs into a temporary folder. Other
// suites use the installed Node, or the Node that scripts/node pins. The last line is "N passed, N failed".
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { cannotRun } from './lib/cannot-run.mjs';
import { root } from './lib/prepare.mjs';

const version = '26.10.0';

const folder = mkdtempSync(join(tmpdir(), 'rms-node-'));
try {
  const name = `node-${process.platform}-${process.arch}`;
  const options = ['--no-save', '--no-package-lock', '--ignore-scripts', '--prefix', folder];
  const { status, stderr } = spawnSync('npm', ['install', '--silent', ...options, `${name}@${version}`], {
    encoding: 'utf8',
  });
  if (status === 0) {
    const bin = join(folder, 'node_modules', name, 'bin');
    const files = ['standalone.test', 'standalone-events', 'standalone-guarded'].map((name) => `test/api/${name}`);
    const tests = spawnSync(join(bin, 'node'), [join(root, 'scripts', 'test.mjs'), ...files], {
      cwd: root,
      env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` },
      stdio: 'inherit',
    });
    process.exitCode = tests.status ?? 1;
  } else {
    process.exitCode = cannotRun('newest-node', `npm cannot install ${name}@${version}: ${stderr.trim()}`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
