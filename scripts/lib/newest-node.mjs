import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { binaryIn, packageOfPlatform } from './node.mjs';
import { cache, execute } from './tools.mjs';

/** Version of the newest Node. */
const newestNode = '26.10.0';

/**
 * Returns the path of the newest Node for a platform (default: this one), which npm installs once. Throws a PrepareError
 * if npm cannot install it.
 */
export function findNewestNode(platform = process.platform, arch = process.arch) {
  const name = packageOfPlatform(platform, arch);
  const folder = join(cache, `${name}-${newestNode}`);
  if (existsSync(binaryIn(folder, name))) return binaryIn(folder, name);
  process.stderr.write(`rms: fetching ${name} ${newestNode} through npm (once)\n`);
  mkdirSync(cache, { recursive: true });
  const temporary = mkdtempSync(join(cache, 'node-'));
  try {
    const options = ['--silent', '--no-save', '--no-package-lock', '--ignore-scripts', '--prefix', temporary];
    // Without --force, npm refuses a package for another platform.
    options.push('--force');
    execute('npm', ['install', ...options, `${name}@${newestNode}`], { shell: process.platform === 'win32' });
    rmSync(folder, { recursive: true, force: true });
    renameSync(temporary, folder);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  return binaryIn(folder, name);
}
