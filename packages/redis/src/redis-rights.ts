import { withTimeout } from '@rms/async';
import { SettingsError } from '@rms/runtime/settings';
import type { Redis } from 'ioredis';

/** The commands and keys that a service uses in Redis. */
export interface RedisRights {
  /** Prefix of the keys. */
  readonly prefix: string;
  /** Harmless calls, one per command, on keys with the prefix that expire soon. */
  readonly probes: (key: string) => readonly (readonly [command: string, ...args: (string | number)[]])[];
}

const timeoutMs = 2_000;
const keptMs = 10_000;
const unknownScript = '0'.repeat(40);

/** Rights of the limiter: of gateway, auth and alerts. */
export const limiterRights: RedisRights = {
  prefix: 'rms:',
  probes: (key) => [
    ['PING'],
    // The run ID shows that another server has taken over with copied keys.
    ['INFO', 'server'],
    ['TIME'],
    ['SET', key, 1, 'PX', keptMs],
    ['GET', key],
    ['INCR', key],
    ['PTTL', key],
    ['PEXPIRE', key, keptMs],
    ['EXPIRE', key, keptMs / 1000],
    ['ZADD', `${key}:set`, 1, 'one'],
    ['PEXPIRE', `${key}:set`, keptMs],
    ['ZCARD', `${key}:set`],
    ['ZREMRANGEBYSCORE', `${key}:set`, 0, 1],
    ['EVAL', 'return 1', 0],
    ['EVALSHA', unknownScript, 0],
  ],
};

/** Rights of the dashboard's sessions. */
export const sessionRights: RedisRights = {
  prefix: 'rms-dashboard:',
  probes: (key) => [
    ['PING'],
    ['SET', key, 1, 'PX', keptMs],
    ['GET', key],
    ['DEL', key],
    ['HSET', `${key}:hash`, 'one', 1],
    ['PEXPIREAT', `${key}:hash`, Date.now() + keptMs],
    ['HLEN', `${key}:hash`],
    ['HGET', `${key}:hash`, 'one'],
    ['HGETALL', `${key}:hash`],
    ['HDEL', `${key}:hash`, 'one'],
  ],
};

/** Whether the server rejected a command because it loads its data. */
export function isLoading(error: unknown): boolean {
  return /^LOADING\b/.test((error as Error | undefined)?.message ?? '');
}

/**
 * Calls every command that a service needs. Returns an error that identifies the commands and keys that the user of the
 * connection may not use; undefined if the user has all rights. Rejects if Redis is unreachable or loads its data.
 */
export async function findMissingRights(
  redis: Redis,
  { prefix, probes }: RedisRights,
  /** See {@link RedisServer.ownKey}. */
  ownKey: (name: string) => string = (name) => name,
): Promise<Error | undefined> {
  const commands = new Set<string>();
  let keys = false;
  const { db: database = 0 } = redis.options;
  const name = `${prefix}rights-check`;
  const key = ownKey(name);
  let isNode = false;
  let lacksDatabase = false;
  // ioredis selects a new connection's database, and continues with another one if that fails.
  const select = database === 0 ? [] : [['SELECT', database] as const];
  await withTimeout(
    Promise.all(
      [...select, ...probes(key)].map(async ([command, ...args]) => {
        try {
          await redis.call(command, ...args);
        } catch (error) {
          const { message } = error as Error;
          if (message.startsWith('MOVED')) isNode = true;
          if (command === 'SELECT' && /out of range/.test(message)) lacksDatabase = true;
          if (message.startsWith('ERR unknown command')) commands.add(command);
          else if (!message.startsWith('NOPERM')) {
            // Other responses are expected: an unknown script, or a read-only server.
            if (!/^[A-Z]+ /.test(message) || isLoading(error)) throw error;
          } else if (/\bkeys?\b/i.test(message)) keys = true;
          else commands.add(command);
        }
      }),
    ),
    timeoutMs,
    'Redis',
  );
  if (isNode && key === name) {
    return new SettingsError('REDIS_URL: the server belongs to a Redis Cluster; set REDIS_CLUSTER=true');
  }
  if (lacksDatabase) return new SettingsError(`REDIS_URL: the server has no database ${database}`);
  if (commands.size === 0 && !keys) return undefined;
  const missing = [
    ...(commands.size > 0 ? [`run ${[...commands].join(', ')}`] : []),
    ...(keys ? [`use the keys ${prefix}*`] : []),
  ].join(' or ');
  const rules = [...[...commands].map((command) => `+${command.toLowerCase()}`), ...(keys ? [`~${prefix}*`] : [])];
  const user = redis.options.username ?? 'default';
  return new SettingsError(
    `REDIS_URL: the Redis user "${user}" may not ${missing}; add to its rules: ${rules.join(' ')}`,
  );
}
