import { execFileSync } from 'node:child_process';
import { root } from './prepare.mjs';

/**
 * Returns the commit that a change is compared with: main, or on main the previous commit; HEAD if there is no other.
 * Returns undefined for sources without a history.
 */
export function baseCommit() {
  const commits = ['origin/main', 'main', 'HEAD^', 'HEAD'].map(commitOf);
  const head = commits.at(-1);
  return commits.find((commit) => commit !== undefined && commit !== head) ?? head;
}

function commitOf(ref) {
  try {
    return git('rev-parse', '--verify', '--quiet', `${ref}^{commit}`).trim();
  } catch {
    return undefined;
  }
}

/** Runs git in the checkout, and returns its output. Throws if it fails. */
export function git(...args) {
  return execFileSync('git', args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}
