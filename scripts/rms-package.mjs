// npm run rms:package [-- FOLDER]: packs the `rms` command into FOLDER (default: cli/dist) as an npm package without
// dependencies. Prints the package's path.
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ensureInstalled, orExit, root } from './lib/prepare.mjs';
import { execute } from './lib/tools.mjs';

await orExit(async () => {
  ensureInstalled({ development: true });
  const { bundleRms } = await import('./lib/rms-bundle.mjs');
  const target = resolve(process.argv[2] ?? join(root, 'cli', 'dist'));
  const folder = mkdtempSync(join(tmpdir(), 'rms-package-'));
  try {
    await bundleRms(folder);
    const read = (path) => JSON.parse(readFileSync(join(root, path), 'utf8'));
    const { name, version, license, type } = read('cli/package.json');
    const manifest = {
      ...{ name, version, license, type, engines: read('package.json').engines, bin: { rms: 'main.js' } },
      description: 'Command line of the Resource Management Service',
    };
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
    mkdirSync(target, { recursive: true });
    const packed = execute('npm', ['pack', '--silent', '--pack-destination', target], {
      cwd: folder,
      shell: process.platform === 'win32',
    });
    console.log(join(target, packed.trim()));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
