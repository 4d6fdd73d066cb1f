// npm run image [-- options of the engine]: builds the image of all services with buildah, podman or docker, the first
// that works here, or with CONTAINER_ENGINE. IMAGE is its name; BUILD_IMAGE and BASE_IMAGE are what it is built in and on.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './lib/prepare.mjs';

/** Each with a call that works only if the engine does: docker is often there without its daemon. */
const engines = { buildah: ['version'], podman: ['info'], docker: ['info'] };

const engine = process.env.CONTAINER_ENGINE || Object.keys(engines).find(works);
if (!engine) {
  console.error('image: no buildah, podman or docker works here; install one, or name yours by CONTAINER_ENGINE');
  process.exit(1);
}
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const image = process.env.IMAGE || `rms:${version}`;
const buildArgs = {
  VERSION: version,
  REVISION: git('rev-parse', 'HEAD'),
  // The time of the commit: the same sources make the same image.
  CREATED: git('show', '--no-patch', '--format=%cI', 'HEAD'),
  BUILD_IMAGE: process.env.BUILD_IMAGE,
  BASE_IMAGE: process.env.BASE_IMAGE,
  NODE: process.env.IMAGE_NODE,
};
const args = ['build', '--file', join(root, 'deploy', 'Containerfile'), '--tag', image];
for (const [name, value] of Object.entries(buildArgs)) if (value) args.push('--build-arg', `${name}=${value}`);
const { status, error } = spawnSync(engine, [...args, ...process.argv.slice(2), root], { cwd: root, stdio: 'inherit' });
if (error) console.error(`image: ${engine} cannot be run: ${error.message}`);
if (status === 0) console.log(`image: ${image}`);
process.exitCode = status ?? 1;

function works(name) {
  return spawnSync(name, engines[name], { stdio: 'ignore', timeout: 10_000 }).status === 0;
}

/** Undefined outside a repository. */
function git(...command) {
  const { status: code, stdout } = spawnSync('git', command, { cwd: root, encoding: 'utf8' });
  return code === 0 ? stdout.trim() : undefined;
}
