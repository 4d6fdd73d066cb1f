import { randomUUID } from 'node:crypto';
import { withTimeout } from '@rms/async';
import { findMissingRights, isDemotion, limiterRights, type RedisServer } from '@rms/redis';
import { markersTrustMs } from './limiter.ts';

/** Interval of probes while Redis is reachable. They also detect that another server has taken over. */
const watchMs = 1_000;
/** Interval of probes while Redis is unreachable. */
const reconnectCheckMs = 500;
const probeTimeoutMs = 1_000;
/** Limiters that have not registered for this long do not count as members. */
const memberTtlMs = 30_000;

/**
 * Key that exists while gateways may trust the markers; see Limiter.confirmMarks. Its value is the run ID of the server
 * that holds the markers: if another server takes over with a copy of this key, the key does not confirm markers that
 * were not copied.
 */
export const confirmedKey = 'rms:marks-confirmed';
const epochKey = 'rms:epoch';
const membersKey = 'rms:limiters';

/** Whether Redis can be used and its markers can be trusted, according to probes and failed checks. */
export interface RedisWatch {
  /** Whether a check should use Redis. */
  usable(): boolean;
  /** Reports a failed check. Redis is not used until a background probe succeeds. */
  failed(error: unknown): void;
  /** Whether the connection's user lacks permissions in Redis; unknown until a connection has been checked. */
  lacksRights(): boolean;
  /** End of the trust in the markers, as performance.now() in milliseconds. */
  markersTrustedUntilMs(): number;
  /** Time of the server in milliseconds since 1970; undefined before the first probe. */
  nowMs(): number | undefined;
  /** Number of limiters that checked recently, including this one. */
  members(): number;
  /** Resolves after the first probe, if the server is connected. Throws SettingsError if its user lacks rights. */
  start(): Promise<void>;
  stop(): void;
}

export interface RedisWatchOptions {
  /** Whether this process checks requests. */
  readonly isMember: () => boolean;
  /** Called when markers may have been lost. */
  readonly markersLost: () => void;
  /** Called with a failed probe's error. */
  readonly failed: (error: unknown) => void;
  /** Time without evicted keys until the markers are trusted again, and rest after repeated failures. */
  readonly restMs: number;
}

/** Values that a probe reads from a server. */
interface ServerState {
  readonly runId: string;
  readonly epoch: string;
  /** See {@link RedisWatch.markersTrustedUntilMs}. */
  readonly trustedUntilMs: number;
  readonly members: number;
  /** Keys evicted since the server's start. */
  readonly evictedKeys: number;
  /** Which keys the server evicts when its memory is full; empty: its memory is not limited, or it does not say. */
  readonly policy: string;
}

/**
 * Watches the connection to one Redis server.
 *
 *   away ──a probe succeeds──► usable ──a check fails, the connection breaks──► away
 *
 * A server with checks or probes that fail again within `restMs` of such a return, on the same connection, is not used
 * for `restMs`. A server with almost full memory would otherwise be used and left many times a second.
 *
 * The first probe of a connection checks the rights of its user. Without them, Redis stays away, and each distinct
 * reason is logged.
 *
 * Markers may be lost when the connection breaks (the next connection may reach another server), when the server's run
 * ID changes, and when the epoch key is missing (the server restarted empty or was flushed). Principals that were
 * cached while the markers were unconfirmed are not covered by markers, so they are dropped when a confirmation
 * arrives.
 *
 * A server with another `maxmemory-policy` than noeviction may evict markers one by one. While it evicts keys, its
 * markers are not trusted. Evictions are noticed with the next probe.
 */
export function createRedisWatch(
  { redis, log, ownKey }: RedisServer,
  { isMember, markersLost, failed, restMs }: RedisWatchOptions,
): RedisWatch {
  const id = randomUUID();
  let state: 'unavailable' | 'usable' = 'unavailable';
  let connected = false;
  let known: Pick<ServerState, 'runId' | 'epoch' | 'evictedKeys'> | undefined;
  let memberCount = 1;
  let trustedUntilMs = 0;
  /** Difference of the server's clock to performance.now(). */
  let clockOffsetMs: number | undefined;
  /** When the server was last seen to have evicted keys, in milliseconds of performance.now(). */
  let evictedAtMs = Number.NEGATIVE_INFINITY;
  /** The policy of evictions that was logged last. */
  let reportedPolicy = '';
  /** When Redis was used again after a failure, in milliseconds of performance.now(). */
  let returnedAtMs = Number.NEGATIVE_INFINITY;
  let restUntilMs = 0;
  /** Whether the log says that the current connection's server loads its data. */
  let isLoading = false;
  /** Distinct reasons since Redis was last used for `restMs`; each is logged once. */
  const reasons = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  /** Rights of the current connection: not checked yet, complete, or the error that identifies the missing ones. */
  let rights: 'unchecked' | 'complete' | Error = 'unchecked';

  /** Logs why Redis cannot be used, once per reason. */
  const explain = (err: unknown) => {
    const { message = '' } = (err ?? {}) as Error;
    if (stopped || reasons.has(message)) return;
    reasons.add(message);
    log.error({ err }, 'Redis cannot be used; limits are enforced locally and auth verifies keys');
  };
  const unavailable = (err?: unknown) => {
    // A connected user's rights may change: responses to commands, and to scripts that use them.
    if (/^NOPERM|ACL failure/.test((err as Error | undefined)?.message ?? '')) rights = 'unchecked';
    if (state === 'unavailable') return;
    state = 'unavailable';
    // stop() has closed the connection.
    if (stopped) return;
    const nowMs = performance.now();
    if (redis.status === 'ready' && nowMs < returnedAtMs + restMs) restUntilMs = nowMs + restMs;
    const rest = nowMs < restUntilMs ? { rest_seconds: Math.round((restUntilMs - nowMs) / 1000) } : {};
    log.warn({ err, ...rest }, 'stopped using Redis; limits are enforced locally and auth verifies keys');
    schedule(reconnectCheckMs);
  };
  redis.on('error', (err: Error) => {
    if (state === 'usable') return unavailable(err);
    if (isDemotion(err)) return explain(err);
    // A wrong password or certificate is reported only here: commands that wait for the connection only learn that it
    // closed.
    if (stopped || reasons.has(err.message)) return;
    reasons.add(err.message);
    log.warn({ err }, 'cannot connect to Redis');
  });
  // The client is ready when the server has loaded its data.
  redis.on('connect', () => {
    isLoading = false;
    schedule(reconnectCheckMs);
  });
  redis.on('ready', () => {
    connected = true;
    restUntilMs = 0;
    rights = 'unchecked';
    void probe();
  });
  redis.on('close', () => {
    unavailable(new Error('the connection is closed'));
    if (connected) markersLost();
    connected = false;
  });

  const ask = async (): Promise<ServerState> => {
    // The limiters share the clock of Redis.
    const [seconds, microseconds] = await withTimeout(redis.time(), probeTimeoutMs, 'Redis');
    const nowMs = Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
    const sentAtMs = performance.now();
    clockOffsetMs = nowMs - sentAtMs;
    const [epochs, confirmed, members] = [epochKey, confirmedKey, membersKey].map(ownKey) as [string, string, string];
    const pipeline = redis.pipeline().set(epochs, randomUUID(), 'NX').get(epochs).info('server', 'memory', 'stats');
    pipeline.get(confirmed).pttl(confirmed);
    if (isMember()) pipeline.zadd(members, nowMs, id).pexpire(members, memberTtlMs);
    pipeline.zremrangebyscore(members, '-inf', nowMs - memberTtlMs);
    // Also removes scores from the future, which remain after the clock was set back.
    pipeline.zremrangebyscore(members, nowMs + memberTtlMs, '+inf').zcard(members);
    const responses = (await withTimeout(pipeline.exec(), probeTimeoutMs, 'Redis')) ?? [];
    for (const [error] of responses) if (error) throw error;
    const info = String(responses[2]?.[1]);
    const runId = runIdOf(info);
    const isConfirmed = responses[3]?.[1] === runId;
    // Bounds the trust independently of changes to Redis's clock.
    const trustMs = Math.min(Number(responses[4]?.[1]), markersTrustMs);
    return {
      runId,
      epoch: String(responses[1]?.[1]),
      trustedUntilMs: isConfirmed ? sentAtMs + trustMs : 0,
      members: Number(responses.at(-1)?.[1]),
      evictedKeys: Number(/evicted_keys:(\d+)/.exec(info)?.[1] ?? 0),
      policy: /maxmemory:[1-9]/.test(info) ? (/maxmemory_policy:(\S+)/.exec(info)?.[1] ?? '') : '',
    };
  };

  /** Returns whether the server has evicted keys since the last probe. */
  const checkEvictions = ({ runId, evictedKeys, policy }: ServerState): boolean => {
    if (policy !== reportedPolicy && policy !== '' && policy !== 'noeviction')
      log.warn(
        { policy },
        'maxmemory-policy of Redis is not noeviction; keys that it evicts may be revocation markers',
      );
    reportedPolicy = policy;
    if (known?.runId !== runId || evictedKeys <= known.evictedKeys) return false;
    if (!isResting()) {
      log.warn(
        { policy, evicted_keys: evictedKeys - known.evictedKeys },
        'Redis evicts keys; auth verifies keys. Set maxmemory-policy to noeviction, or increase maxmemory',
      );
    }
    evictedAtMs = performance.now();
    return true;
  };
  const isResting = () => performance.now() < evictedAtMs + restMs;

  /** Throws while rights are missing. They are checked again, because an operator may grant them. */
  const checkRights = async () => {
    if (rights === 'complete') return;
    rights = (await findMissingRights(redis, limiterRights, ownKey)) ?? 'complete';
    if (rights !== 'complete') throw rights;
  };

  const reportLoading = async () => {
    const info = await withTimeout(redis.info('persistence'), probeTimeoutMs, 'Redis').catch(() => '');
    if (stopped || isLoading || redis.status === 'ready' || !/^loading:1/m.test(info)) return;
    isLoading = true;
    const percent = Number(/^loading_loaded_perc:([\d.]+)/m.exec(info)?.[1]);
    log.warn({ percent }, 'Redis is loading its data; until then, limits are enforced locally and auth verifies keys');
  };

  const probe = async () => {
    if (redis.status === 'connect' && !isLoading) await reportLoading();
    if (redis.status !== 'ready') return schedule(reconnectCheckMs);
    try {
      await checkRights();
      const server = await ask();
      const { runId, epoch, members } = server;
      const hasEvicted = checkEvictions(server);
      const changed = known !== undefined && (known.runId !== runId || known.epoch !== epoch);
      const isReturn = known !== undefined;
      known = server;
      memberCount = Math.max(1, members);
      const trusted = isResting() ? 0 : server.trustedUntilMs;
      const trustBegins = !isTrusted(trustedUntilMs) && isTrusted(trusted);
      trustedUntilMs = trusted;
      if (state === 'unavailable' && performance.now() >= restUntilMs) {
        log.info('Redis is used');
        if (isReturn) returnedAtMs = performance.now();
        state = 'usable';
      }
      if (state === 'usable' && performance.now() >= returnedAtMs + restMs) reasons.clear();
      if (changed || hasEvicted || trustBegins) markersLost();
    } catch (error) {
      failed(error);
      if (state === 'unavailable' && !(isLost(error) && reasons.size > 0)) explain(error);
      unavailable(error);
    }
    schedule(state === 'unavailable' ? reconnectCheckMs : watchMs);
  };
  const schedule = (delayMs: number) => {
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(() => void probe(), delayMs);
  };

  return {
    usable: () => state === 'usable' && redis.status === 'ready',
    failed: unavailable,
    lacksRights: () => rights instanceof Error,
    markersTrustedUntilMs: () => trustedUntilMs,
    nowMs: () => (clockOffsetMs === undefined ? undefined : Math.floor(performance.now() + clockOffsetMs)),
    members: () => memberCount,
    async start() {
      // An unreachable Redis at the start is treated like a later failure.
      await probe();
      if (rights instanceof Error) throw rights;
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

/** Extracts the run ID from the output of INFO. A server gets a new run ID at each start. */
export function runIdOf(info: string): string {
  return /run_id:(\w+)/.exec(info)?.[1] ?? '';
}

/** Whether a command failed because the connection had closed, for a reason that the client reports as an event. */
function isLost(error: unknown): boolean {
  return /^(?:Connection is closed|Stream isn't writeable)/.test((error as Error | undefined)?.message ?? '');
}

function isTrusted(untilMs: number): boolean {
  return performance.now() < untilMs;
}
