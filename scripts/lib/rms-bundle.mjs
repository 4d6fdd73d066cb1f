import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'rolldown';
import { root } from './prepare.mjs';

/**
 * Bundles the `rms` command with its dependencies into main.js of a folder, and the license texts of the dependencies
 * into THIRD-PARTY-LICENSES.txt. `isSingle`: without further files for code that is loaded on demand.
 */
export async function bundleRms(folder, { isSingle = false } = {}) {
  const { output } = await build({
    input: join(root, 'cli', 'src', 'main.ts'),
    platform: 'node',
    // A bundle never loads it (cli/src/program.ts).
    external: /\/commands\/migrate\.ts$/,
    output: { dir: folder, format: 'esm', codeSplitting: !isSingle, chunkFileNames: '[name]-[hash].js' },
  });
  const modules = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []));
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES.txt'), licensesOf(modules));
}

/** Returns the name, version and license text of each package that modules belong to. */
function licensesOf(modules) {
  const folders = modules.flatMap((id) => /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id)?.[0] ?? []);
  const texts = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file && existsSync(join(folder, file)) ? readFileSync(join(folder, file), 'utf8').trim() : '';
    return `${name} ${version} (${license})\n\n${text}`;
  });
  return `${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}
