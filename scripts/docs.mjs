// npm run docs: builds the documentation site into docs/site/dist.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { exclusively } from './lib/exclusively.mjs';
import { root } from './lib/prepare.mjs';

const site = join(root, 'docs', 'site');

exclusively(isInstalled, () => run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund']));
run(process.execPath, [join(site, 'node_modules', 'vitepress', 'bin', 'vitepress.js'), 'build', '.']);

function isInstalled() {
  const installed = join(site, 'node_modules', 'vitepress', 'package.json');
  if (!existsSync(installed)) return false;
  const { devDependencies } = JSON.parse(readFileSync(join(site, 'package.json'), 'utf8'));
  return JSON.parse(readFileSync(installed, 'utf8')).version === devDependencies.vitepress;
}

function run(command, args) {
  const { status } = spawnSync(command, args, { cwd: site, stdio: 'inherit', shell: process.platform === 'win32' });
  if (status !== 0) process.exit(status ?? 1);
}
