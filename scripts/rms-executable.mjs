// npm run rms:executable [-- --out FOLDER] [PLATFORM=NODE…]: builds `rms` as one executable (Node's single executable
// application) in FOLDER (default: cli/dist): for this machine, or for each PLATFORM, for example win-x64, with its Node
// binary. Prints the path and size of each. On macOS, sign the executable with `codesign --sign -`.
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { findNewestNode, newestNode } from './lib/newest-node.mjs';
import { ensureInstalled, orExit, PrepareError, root } from './lib/prepare.mjs';
import { execute } from './lib/tools.mjs';

const bytesPerMegabyte = 1_000_000;

await orExit(async () => {
  ensureInstalled({ development: true });
  const { bundleRms } = await import('./lib/rms-bundle.mjs');
  const { values, positionals } = parseArgs({ options: { out: { type: 'string' } }, allowPositionals: true });
  const target = resolve(values.out ?? join(root, 'cli', 'dist'));
  const node = findNewestNode();
  const own = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}=${node}`;
  const folder = mkdtempSync(join(tmpdir(), 'rms-executable-'));
  try {
    await bundleRms(folder, { isSingle: true });
    mkdirSync(target, { recursive: true });
    copyFileSync(join(folder, 'THIRD-PARTY-LICENSES.txt'), join(target, 'THIRD-PARTY-LICENSES.txt'));
    for (const choice of positionals.length > 0 ? positionals : [own]) {
      const [platform, binary] = choice.split(/=(.*)/s);
      if (!binary) throw new PrepareError(`"${choice}" is not PLATFORM=NODE, for example win-x64=node.exe`);
      const output = join(target, `rms-${platform}${platform.startsWith('win') ? '.exe' : ''}`);
      inject(node, { main: join(folder, 'main.js'), executable: resolve(binary), output }, folder);
      console.log(`${output}  ${(statSync(output).size / bytesPerMegabyte).toFixed(1)} MB`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** Writes a copy of a Node binary that runs `main`. Node can read only what its own version has injected. */
function inject(node, config, folder) {
  if (!readFileSync(config.executable).includes(`/v${newestNode}/`)) {
    throw new PrepareError(`${config.executable} is not Node ${newestNode}`);
  }
  const file = join(folder, 'executable.json');
  writeFileSync(file, JSON.stringify({ ...config, mainFormat: 'module', disableExperimentalSEAWarning: true }));
  execute(node, ['--build-sea', file]);
}
