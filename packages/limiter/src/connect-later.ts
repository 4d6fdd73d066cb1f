import { clientTls, type TlsFiles } from '@rms/service';
import { Redis, type RedisOptions } from 'ioredis';
import { checkScript, failureScript, markScript, raiseQuotaScript } from './check-script.ts';

export type CheckReply = [
  outcome: number,
  remaining: number,
  retryAfterUs: number,
  resetUs: number,
  quotaLeft: number,
  changed: number,
];
export type Scripted = Redis & {
  rmsCheck(...args: (string | number)[]): Promise<CheckReply>;
  rmsCountFailure(address: string, emissionUs: number, burst: number): Promise<number>;
  rmsMark(mark: string, version: number, ttlMs: number): Promise<number>;
  rmsRaiseQuota(counter: string, used: number, endsInSeconds: number): Promise<number>;
};

const options = {
  lazyConnect: true,
  enableAutoPipelining: true,
  // Nothing waits in a queue for a Redis that is away.
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  connectTimeout: 2_000,
  // stop() does not wait for a server that is away.
  disconnectTimeout: 100,
  // A server that is silent for so long is dialled anew.
  socketTimeout: 3_000,
  retryStrategy: (attempt: number) => Math.min(100 * attempt, 1_000),
  // What answers is a replica now: its name may lead to the new primary.
  reconnectOnError: ({ message }: Error) => message.startsWith('READONLY'),
} satisfies RedisOptions;

/** A connection that is made when connect() is called. User and password are those of the URL. */
export function plainConnection(url: string, files: TlsFiles): Redis {
  const tls = isTls(url) ? { tls: clientTls(files) } : {};
  return new Redis(withoutTlsParameter(url), { ...options, ...tls });
}

/** The same, with the scripts of the limiter. */
export function connectLater(url: string, files: TlsFiles): Scripted {
  const redis = plainConnection(url, files);
  redis.defineCommand('rmsCheck', { numberOfKeys: 3, lua: checkScript });
  redis.defineCommand('rmsCountFailure', { numberOfKeys: 1, lua: failureScript });
  redis.defineCommand('rmsMark', { numberOfKeys: 1, lua: markScript });
  redis.defineCommand('rmsRaiseQuota', { numberOfKeys: 1, lua: raiseQuotaScript });
  return redis as Scripted;
}

export function isTls(url: string): boolean {
  return /^rediss:/i.test(url);
}

/** ioredis takes parameters of the URL for options, before ours: "?tls=" would turn TLS off. */
function withoutTlsParameter(url: string): string {
  if (!URL.canParse(url)) return url;
  const parsed = new URL(url);
  if (!parsed.searchParams.has('tls')) return url;
  parsed.searchParams.delete('tls');
  return parsed.href;
}
