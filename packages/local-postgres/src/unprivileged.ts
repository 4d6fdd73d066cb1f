import { execFileSync, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, statSync } from 'node:fs';

/** User that PostgreSQL runs as if this process is root, because PostgreSQL refuses to run as root. */
export interface User {
  readonly uid: number;
  readonly gid: number;
}

/** Starts a program as the configured user. */
export type Launch = (program: string, args: readonly string[], options: SpawnOptions) => ReturnType<typeof spawn>;

/**
 * Chooses the user that runs PostgreSQL: undefined (the current user) unless this process is root. As root: the owner
 * of an existing data directory unless the owner is root, otherwise the system's `postgres`, otherwise `nobody`.
 * Creates no user.
 */
export function postgresUser(dataDirectory: string): User | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const owner = statSync(dataDirectory, { throwIfNoEntry: false });
  if (owner && owner.uid !== 0) return owner;
  const user = lookUp('postgres') ?? lookUp('nobody');
  if (user) return user;
  throw new Error('PostgreSQL refuses to run as root; run as another user, or set DATABASE_URL');
}

/** Lets the group of `user` enter a folder that only its owner can enter. */
export function admit(folder: string, { gid }: User): void {
  const { mode, uid } = statSync(folder);
  if ((mode & 0o011) !== 0) return;
  chownSync(folder, uid, gid);
  chmodSync(folder, (mode & 0o7777) | 0o010);
}

/**
 * Returns a function that starts programs as `user`. If the user cannot reach the checkout or the data (for example, a
 * checkout below /root), the programs keep one capability of root, CAP_DAC_READ_SEARCH, by means of setpriv from
 * util-linux.
 */
export function launchAs(user: User | undefined, paths: readonly string[]): Launch {
  if (!user) return (program, args, options) => spawn(program, args, options);
  const { uid, gid } = user;
  if (canReach(paths, { uid, gid })) return (program, args, options) => spawn(program, args, { ...options, uid, gid });
  const capability = '+dac_read_search';
  const prefix = ['--reuid', `${uid}`, '--regid', `${gid}`, '--clear-groups'];
  prefix.push('--bounding-set', `-all,${capability}`, '--inh-caps', `-all,${capability}`, '--ambient-caps', capability);
  // Without this flag, access(2), which PostgreSQL uses to locate its files, would ignore the capability.
  prefix.push('--securebits', '+no_setuid_fixup', '--');
  if (spawnSync('setpriv', [...prefix, 'test', '-r', paths[0] ?? '/'], { stdio: 'ignore' }).status !== 0) {
    throw new Error(
      `PostgreSQL refuses to run as root, and user ${uid} cannot reach ${paths.join(' or ')}; ` +
        'move the checkout to a folder that all users can enter, run as another user, or set DATABASE_URL',
    );
  }
  return (program, args, options) => spawn('setpriv', [...prefix, program, ...args], options);
}

function canReach(paths: readonly string[], user: User): boolean {
  return paths.every((path) => spawnSync('test', ['-x', path], { ...user, cwd: '/', stdio: 'ignore' }).status === 0);
}

function lookUp(name: string): User | undefined {
  try {
    const id = (flag: string) => Number(execFileSync('id', [flag, name], { stdio: ['ignore', 'pipe', 'ignore'] }));
    return { uid: id('-u'), gid: id('-g') };
  } catch {
    return undefined;
  }
}
