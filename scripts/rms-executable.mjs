// npm run rms:executable [-- --out FOLDER] [PLATFORM…]: builds `rms` as one executable (Node's single executable
// application) in FOLDER (default: cli/dist): for this machine, or for each PLATFORM, for example win-x64. Prints the path
// and size of each. On macOS, sign the executable with `codesign --sign -`.
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { findNewestNode } from './lib/newest-node.mjs';
import { ensureInstalled, orExit, PrepareError, root } from './lib/prepare.mjs';
import { execute } from './lib/tools.mjs';

const platforms = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win-x64'];
const bytesPerMegabyte = 1_000_000;
/** Offset of the PE header's offset in a Windows executable. */
const peOffsetAt = 0x3c;
/** Offset of the signature's data directory entry from the PE header, in executables with 64 bits. */
const signatureEntryAt = 168;
const entryBytes = 8;

await orExit(async () => {
  ensureInstalled({ development: true });
  const { bundleRms } = await import('./lib/rms-bundle.mjs');
  const { values, positionals } = parseArgs({ options: { out: { type: 'string' } }, allowPositionals: true });
  const unknown = positionals.find((platform) => !platforms.includes(platform));
  if (unknown) throw new PrepareError(`"${unknown}" is not a platform; specify ${platforms.join(', ')}`);
  const target = resolve(values.out ?? join(root, 'cli', 'dist'));
  const own = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  const folder = mkdtempSync(join(tmpdir(), 'rms-executable-'));
  try {
    await bundleRms(folder, { isSingle: true });
    mkdirSync(target, { recursive: true });
    copyFileSync(join(folder, 'THIRD-PARTY-LICENSES.txt'), join(target, 'THIRD-PARTY-LICENSES.txt'));
    for (const platform of positionals.length > 0 ? positionals : [own]) {
      const output = join(target, `rms-${platform}${platform.startsWith('win') ? '.exe' : ''}`);
      buildExecutable(platform, output, folder);
      console.log(`${output}  ${(statSync(output).size / bytesPerMegabyte).toFixed(1)} MB`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** Writes a copy of a platform's Node that runs main.js. Node can read only what its own version has injected. */
function buildExecutable(platform, output, folder) {
  const [os, arch] = platform.split('-');
  const node = findNewestNode(os === 'win' ? 'win32' : os, arch);
  const executable = os === 'win' ? withoutSignature(node, join(folder, 'node.exe')) : node;
  const config = { main: join(folder, 'main.js'), mainFormat: 'module', disableExperimentalSEAWarning: true };
  const file = join(folder, 'executable.json');
  writeFileSync(file, JSON.stringify({ ...config, executable, output }));
  execute(findNewestNode(), ['--build-sea', file]);
}

/** Writes a copy of a Windows executable without its signature, which would not match the executable. Returns its path. */
function withoutSignature(node, copy) {
  const bytes = readFileSync(node);
  const entryAt = bytes.readUInt32LE(peOffsetAt) + signatureEntryAt;
  // The signature is the end of the file.
  const signatureAt = bytes.readUInt32LE(entryAt) || bytes.length;
  bytes.fill(0, entryAt, entryAt + entryBytes);
  writeFileSync(copy, bytes.subarray(0, signatureAt));
  return copy;
}
