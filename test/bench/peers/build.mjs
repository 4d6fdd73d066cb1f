import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const cache = process.env.PEERS_DIR ?? join(homedir(), '.cache', 'rms-bench-peers');

/**
 * The peers, at the releases that this benchmark was written for. `folder` is where `build` runs, and `program` what it
 * makes, both relative to the checkout.
 */
export const releases = {
  svix: {
    version: '1.100.0',
    repository: 'https://github.com/svix/svix-webhooks.git',
    tag: 'server-v1.100.0',
    folder: 'server',
    build: ['cargo', 'build', '--release', '--locked', '--package', 'svix-server'],
    program: 'server/target/release/svix-server',
  },
  outpost: {
    version: '1.2.0',
    repository: 'https://github.com/hookdeck/outpost.git',
    tag: 'v1.2.0',
    folder: '.',
    build: ['go', 'build', '-o', 'bin/', './cmd/outpost', './cmd/outpost-server'],
    program: 'bin/outpost-server',
  },
};

/**
 * Returns the path of a peer's program. Builds it from the source of its release, once, in the folder PEERS_DIR
 * (default: ~/.cache/rms-bench-peers). SVIX_PROGRAM and OUTPOST_PROGRAM are programs that exist already.
 * @param {keyof typeof releases} name
 */
export function programOf(name) {
  const existing = process.env[`${name.toUpperCase()}_PROGRAM`];
  if (existing) return existing;
  const { tag, repository, folder, build, program } = releases[name];
  const checkout = join(cache, `${name}-${tag}`);
  if (existsSync(join(checkout, program))) return join(checkout, program);
  const run = (cwd, command, ...args) => execFileSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });
  mkdirSync(cache, { recursive: true });
  if (!existsSync(checkout)) run(cache, 'git', 'clone', '--depth', '1', '--branch', tag, repository, checkout);
  const [command, ...args] = build;
  run(join(checkout, folder), command, ...args);
  return join(checkout, program);
}
