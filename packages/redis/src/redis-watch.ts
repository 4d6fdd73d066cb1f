import { randomUUID } from 'node:crypto';
import { withTimeout } from '@rms/async';
import { findMissingRights, limiterRights } from './redis-rights.ts';
import type { RedisServer } from './redis-servers.ts';
import { initialState, isUsable, next, type ServerState, type WatchEffect, type WatchEvent } from './watch-state.ts';

const probeTimeoutMs = 1_000;
/** Limiters that have not registered for this long do not count as members. */
const memberTtlMs = 30_000;

/**
 * Key that exists while gateways may trust the markers; see Limiter.confirmMarkers of @rms/limits. Its value is the run
 * ID of the server that holds the markers: if another server takes over with a copy of this key, the key does not
 * confirm markers that were not copied.
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
  /** Whether the connection's user lacks rights in Redis; unknown until a connection has been checked. */
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
  /** See {@link next}. */
  readonly restMs: number;
  /** Maximum time of the trust in the markers after a probe. */
  readonly markersTrustMs: number;
}

/**
 * Watches the connection to one Redis server. `next` decides; this function reads the server and carries out effects.
 */
export function createRedisWatch({ redis, log, ownKey }: RedisServer, options: RedisWatchOptions): RedisWatch {
  const { isMember, markersTrustMs, restMs } = options;
  const id = randomUUID();
  let state = initialState;
  let timer: NodeJS.Timeout | undefined;
  let probing: Promise<void> | undefined;
  /** Difference of the server's clock to performance.now(). */
  let clockOffsetMs: number | undefined;

  const take = (event: WatchEvent) => {
    const { state: following, effects } = next(state, event, performance.now(), restMs);
    state = following;
    for (const effect of effects) carryOut(effect);
  };
  const carryOut = (effect: WatchEffect): void => {
    if (effect.kind === 'wake') {
      clearTimeout(timer);
      timer = setTimeout(take, effect.afterMs, { kind: 'due' });
    } else if (effect.kind === 'probe') probing = probe(effect);
    else if (effect.kind === 'ask whether it loads') void askWhetherItLoads(effect);
    else if (effect.kind === 'markers lost') options.markersLost();
    else if (effect.kind === 'report') options.failed(effect.error);
    else log[effect.level](effect.fields, effect.message);
  };

  const probe = async ({ checksRights, closed }: { checksRights: boolean; closed: number }) => {
    try {
      if (checksRights) {
        const missing = await findMissingRights(redis, limiterRights, ownKey);
        take({ kind: 'rights', missing, closed });
        if (missing) throw missing;
      }
      take({ kind: 'probed', server: await readServer(), closed });
    } catch (error) {
      take({ kind: 'probe failed', error, closed });
    }
  };
  const readServer = async (): Promise<ServerState> => {
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
  const askWhetherItLoads = async ({ closed }: { closed: number }) => {
    const info = await withTimeout(redis.info('persistence'), probeTimeoutMs, 'Redis').catch(() => '');
    if (!/^loading:1/m.test(info)) return;
    take({ kind: 'loading', percent: Number(/^loading_loaded_perc:([\d.]+)/m.exec(info)?.[1]), closed });
  };

  redis.on('connect', () => take({ kind: 'opened' }));
  // The client is ready when the server has loaded its data.
  redis.on('ready', () => take({ kind: 'ready' }));
  redis.on('close', () => take({ kind: 'closed' }));
  redis.on('error', (error: Error) => take({ kind: 'error', error }));

  return {
    // The client reports a closed connection a turn later.
    usable: () => isUsable(state) && redis.status === 'ready',
    failed: (error) => take({ kind: 'check failed', error }),
    lacksRights: () => state.rights instanceof Error,
    markersTrustedUntilMs: () => state.trustedUntilMs,
    nowMs: () => (clockOffsetMs === undefined ? undefined : Math.floor(performance.now() + clockOffsetMs)),
    members: () => Math.max(1, state.server?.members ?? 1),
    async start() {
      // An unreachable Redis at the start is treated like a later failure.
      take({ kind: 'due' });
      await probing;
      if (state.rights instanceof Error) throw state.rights;
    },
    stop() {
      take({ kind: 'stopped' });
      clearTimeout(timer);
    },
  };
}

/** Extracts the run ID from the output of INFO. A server gets a new run ID at each start. */
export function runIdOf(info: string): string {
  return /run_id:(\w+)/.exec(info)?.[1] ?? '';
}
