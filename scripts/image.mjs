// npm run image [-- options of the engine]: builds the image of all services with CONTAINER_ENGINE, or with the first
// of buildah, podman and docker that works. IMAGE is the built image's name. BUILD_IMAGE and BASE_IMAGE replace
// the two build stages' images.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './lib/prepare.mjs';

/** Engines with a command that fails if the engine cannot build; docker is often installed without its daemon. */
const engines = { buildah: ['version'], podman: ['info'], docker: ['info'] };

const engine = process.env.CONTAINER_ENGINE || Object.keys(engines).find(works);
if (!engine) {
  console.error('image: none of buildah, podman and docker works; install one, or set CONTAINER_ENGINE');
  process.exit(1);
}
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const image = process.env.IMAGE || `rms:${version}`;
const buildArgs = {
  VERSION: version,
  REVISION: git('rev-parse', 'HEAD'),
  // Uses the commit's time, so that the same sources produce the same image.
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

/** Returns a git command's output; undefined outside a repository. */
function git(...command) {
  const { status: code, stdout } = spawnSync('git', command, { cwd: root, encoding: 'utf8' });
  return code === 0 ? stdout.trim() : undefined;
}
