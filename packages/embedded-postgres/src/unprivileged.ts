import { execFileSync, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';

/** PostgreSQL refuses to run as root: the user that it runs as then. */
export interface User {
  readonly uid: number;
  readonly gid: number;
}

/** Starts a program as the user that it has to run as. */
export type Launch = (program: string, args: readonly string[], options: SpawnOptions) => ReturnType<typeof spawn>;

/**
 * Who runs PostgreSQL: whoever runs us, or, as root, the owner of the data if there are some, else the system's
 * `postgres`, else `nobody`. No user is made.
 */
export function postgresUser(dataDirectory: string): User | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const owner = statSync(dataDirectory, { throwIfNoEntry: false });
  if (owner && owner.uid !== 0) return owner;
  const user = lookUp('postgres') ?? lookUp('nobody');
  if (user) return user;
  throw new Error('PostgreSQL refuses to run as root; run as another user, or set DATABASE_URL');
}

/**
 * How to start programs as `user`. Where the user can't reach the checkout or the data (a checkout below /root, say),
 * they keep one right of root, that to look into folders; setpriv of util-linux gives it.
 */
export function launchAs(user: User | undefined, paths: readonly string[]): Launch {
  if (!user) return (program, args, options) => spawn(program, args, options);
  const { uid, gid } = user;
  if (canReach(paths, { uid, gid })) return (program, args, options) => spawn(program, args, { ...options, uid, gid });
  const look = '+dac_read_search';
  const prefix = ['--reuid', `${uid}`, '--regid', `${gid}`, '--clear-groups'];
  prefix.push('--bounding-set', `-all,${look}`, '--inh-caps', `-all,${look}`, '--ambient-caps', look);
  // Without it access(2), by which PostgreSQL looks for its files, would not respect the right.
  prefix.push('--securebits', '+no_setuid_fixup', '--');
  if (spawnSync('setpriv', [...prefix, 'test', '-r', paths[0] ?? '/'], { stdio: 'ignore' }).status !== 0) {
    throw new Error(
      `PostgreSQL refuses to run as root, and user ${uid} may not reach ${paths.join(' or ')}; ` +
        'move the checkout to a folder that all users may enter, run as another user, or set DATABASE_URL',
    );
  }
  return (program, args, options) => spawn('setpriv', [...prefix, program, ...args], options);
}

function canReach(paths: readonly string[], user: User): boolean {
  return paths.every((path) => spawnSync('test', ['-r', path], { ...user, cwd: '/', stdio: 'ignore' }).status === 0);
}

function lookUp(name: string): User | undefined {
  try {
    const id = (flag: string) => Number(execFileSync('id', [flag, name], { stdio: ['ignore', 'pipe', 'ignore'] }));
    return { uid: id('-u'), gid: id('-g') };
  } catch {
    return undefined;
  }
}
