import { withTimeout } from '@rms/async';
import { confirmedKey, type RedisServer, type RedisServers, runIdOf } from '@rms/redis';
import { markerKey, type Scripted } from './limit-check.ts';
import { type KeyChange, type Limiter, markersTrustMs, markerTtlMs, type SetMarkers } from './limiter.ts';

/** Maximum time to set or confirm a marker on one server. */
export const markerTimeoutMs = 2_000;

/** Sets a marker on the server that owns its key. */
export function setMarker(redis: Scripted, change: KeyChange): Promise<number> {
  return redis.rmsSetMarker(markerKey(change), change.version, markerTtlMs);
}

/**
 * Confirms the markers on each server with all markers set; see {@link Limiter.confirmMarkers}. Rejects with the
 * first reason why a server was not confirmed.
 *
 * While all servers respond, every marker is set somewhere, or none of the servers is confirmed. While one of them does
 * not, its markers remain pending, and another server may have taken over their keys unnoticed. Therefore another server
 * is confirmed only if it says itself that it owns no other keys than those with markers that were set on it.
 */
export async function confirmMarkers(
  servers: RedisServers,
  setAll: (set: SetMarkers) => Promise<void>,
): ReturnType<Limiter['confirmMarkers']> {
  const all = servers.all();
  if (all.length === 0) throw new Error('no Redis server is known');
  const reasons: unknown[] = [];
  const unconfirmed = new Set<RedisServer>();
  const fail = (server: RedisServer | undefined, reason: unknown) => {
    servers.failed(reason);
    reasons.push(reason);
    if (server) unconfirmed.add(server);
  };
  // Reads the clock of each server before `setAll` reads the changes, so that a late confirmation expires early instead
  // of being wrong.
  const states = await Promise.all(
    all.map((server) =>
      readState(server).catch((error: unknown) => {
        fail(server, error);
        return undefined;
      }),
    ),
  );
  if (unconfirmed.size === all.length) throw reasons[0];

  const isAsAssigned = servers.comparison();
  await setAll(async <Change extends KeyChange>(changes: readonly Change[]) => {
    const results = changes.map(async (change): Promise<Change[]> => {
      let server: RedisServer | undefined;
      try {
        server = servers.of(markerKey(change));
        // It does not respond. Another timeout would use up the trust in the other servers.
        if (unconfirmed.has(server)) return [];
        await withTimeout(setMarker(server.redis as Scripted, change), markerTimeoutMs, 'Redis');
        return [change];
      } catch (error) {
        fail(server, error);
        return [];
      }
    });
    return (await Promise.all(results)).flat();
  });

  const confirm = async (server: RedisServer, state: State) => {
    if (reasons.length > 0 && !(await isAsAssigned(server))) {
      throw new Error('the server owns other keys than known');
    }
    const confirming = server.redis.set(server.ownKey(confirmedKey), state.runId, 'PXAT', state.trustedUntilMs);
    await withTimeout(confirming, markerTimeoutMs, 'Redis');
  };
  const confirming = all.map((server, index) => {
    const state = states[index];
    if (!state || unconfirmed.has(server)) return undefined;
    return confirm(server, state).catch((error: unknown) => fail(server, error));
  });
  await Promise.all(confirming);
  if (reasons.length > 0) throw reasons[0];
}

/** State of a server at a confirmation's start. */
interface State {
  readonly runId: string;
  /** End of the trust, by the server's clock. */
  readonly trustedUntilMs: number;
}

async function readState({ redis }: RedisServer): Promise<State> {
  const reading = Promise.all([redis.info('server'), redis.time()]);
  const [info, [seconds = 0, microseconds = 0]] = await withTimeout(reading, markerTimeoutMs, 'Redis');
  const nowMs = Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
  return { runId: runIdOf(info), trustedUntilMs: nowMs + markersTrustMs };
}
