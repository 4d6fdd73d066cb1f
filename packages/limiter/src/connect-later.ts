import { clientTls, type TlsFiles } from '@rms/settings';
import { Redis, type RedisOptions } from 'ioredis';
import { checkScript, failureScript, markerScript, raiseQuotaScript } from './check-script.ts';
import { RedisConnector } from './redis-connector.ts';

export type CheckReply = [
  outcome: number,
  retryAfterUs: number,
  remaining: number,
  resetUs: number,
  workspaceRemaining: number,
  workspaceResetUs: number,
  quotaRemaining: number,
  changed: number,
];
export type Scripted = Redis & {
  rmsCheck(...args: (string | number)[]): Promise<CheckReply>;
  rmsCountFailure(address: string, emissionUs: number, burst: number): Promise<number>;
  rmsSetMarker(setMarkers: string, version: number, ttlMs: number): Promise<number>;
  rmsRaiseQuota(counter: string, used: number, endsInSeconds: number): Promise<number>;
};

const options = {
  Connector: RedisConnector,
  lazyConnect: true,
  enableAutoPipelining: true,
  // Commands fail immediately instead of being queued while Redis is unreachable.
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  connectTimeout: 2_000,
  // stop() does not wait for an unreachable server.
  disconnectTimeout: 100,
  // Reconnects if the server sends nothing for this long.
  socketTimeout: 3_000,
  retryStrategy: (attempt: number) => Math.min(100 * attempt, 1_000),
  // The server has become a replica; its name may now resolve to the new primary.
  reconnectOnError: ({ message }: Error) => message.startsWith('READONLY'),
} satisfies RedisOptions;

/** Creates a connection that opens on connect(). The URL contains the user and password. */
export function plainConnection(url: string, files: TlsFiles): Redis {
  const tls = isTls(url) ? { tls: clientTls(files) } : {};
  return new Redis(withoutTlsParameter(url), { ...options, ...tls });
}

/** Creates a connection with the limiter's scripts. */
export function connectLater(url: string, files: TlsFiles): Scripted {
  const redis = plainConnection(url, files);
  redis.defineCommand('rmsCheck', { numberOfKeys: 4, lua: checkScript });
  redis.defineCommand('rmsCountFailure', { numberOfKeys: 1, lua: failureScript });
  redis.defineCommand('rmsSetMarker', { numberOfKeys: 1, lua: markerScript });
  redis.defineCommand('rmsRaiseQuota', { numberOfKeys: 1, lua: raiseQuotaScript });
  return redis as Scripted;
}

export function isTls(url: string): boolean {
  return /^rediss:/i.test(url);
}

/** Removes the "tls" parameter: ioredis gives URL parameters precedence over options, so "?tls=" would disable TLS. */
function withoutTlsParameter(url: string): string {
  if (!URL.canParse(url)) return url;
  const parsed = new URL(url);
  if (!parsed.searchParams.has('tls')) return url;
  parsed.searchParams.delete('tls');
  return parsed.href;
}
