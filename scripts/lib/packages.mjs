// Packages of the system.
import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Installs missing programs with apt-get if this user may. Returns the reason for a failure, or undefined. */
export function installPackages(names, packages) {
  if (names.every(isInstalled)) return undefined;
  if (process.getuid?.() !== 0 || !isInstalled('apt-get')) return `${names.join(' and ')} not found`;
  process.stderr.write(`rms: installing ${packages.join(' and ')} with apt-get\n`);
  /** @type {import('node:child_process').SpawnSyncOptions} */
  const options = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, stdio: ['ignore', 'pipe', 'pipe'] };
  spawnSync('apt-get', ['update', '-qq'], options);
  const { status, stderr } = spawnSync(
    'apt-get',
    ['install', '-y', '-qq', '--no-install-recommends', ...packages],
    options,
  );
  if (status === 0) return undefined;
  return `apt-get install ${packages.join(' ')} failed: ${String(stderr).trim().split('\n').at(-1)}`;
}

function isInstalled(program) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
