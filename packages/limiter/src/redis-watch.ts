import { randomUUID } from 'node:crypto';
import type { Logger } from '@rms/service';
import type { Redis } from 'ioredis';
import { marksTrustMs } from './limiter.ts';
import { withTimeout } from './timeout.ts';

/** How often Redis is asked whether it is still the same one, and while it is away whether it is back. */
const watchMs = 1_000;
const awayWatchMs = 500;
const probeTimeoutMs = 1_000;
/** Limiters that were not heard of for so long don't count. */
const memberTtlMs = 30_000;

/**
 * Stands as long as gateways may trust the marks; see Limiter.confirmMarks. It names the server that holds them: where
 * another takes over with a copy of this key, it says nothing about the marks that were not copied.
 */
export const confirmedKey = 'rms:marks-confirmed';
const epochKey = 'rms:epoch';
const membersKey = 'rms:limiters';

export interface RedisWatch {
  /** Whether a check should ask Redis. */
  usable(): boolean;
  /** A check has failed: Redis is left alone until a probe in the background finds that it answers. */
  failed(error: unknown): void;
  /** Until when an auth instance vouches for the marks, in milliseconds of performance.now(). */
  marksTrustedUntilMs(): number;
  /** How many limiters checked lately, this one included. */
  members(): number;
  onMarksLost(listener: () => void): () => void;
  start(): Promise<void>;
  stop(): void;
}

/**
 * Watches one Redis connection.
 *
 *   away ──a probe answers──► usable ──a check fails, the connection breaks──► away
 *
 * Marks may be lost when the connection breaks (another server may answer next), when the server's run id changes, and
 * when the epoch key is gone (it restarted empty, or was flushed). What was cached while nobody vouched for marks is not
 * covered by marks either, so it goes when somebody vouches again.
 */
export function createRedisWatch(redis: Redis, log: Logger, isMember: () => boolean): RedisWatch {
  const id = randomUUID();
  const marksLostListeners = new Set<() => void>();
  let state: 'away' | 'usable' = 'away';
  let connected = false;
  let known: { runId: string; epoch: string } | undefined;
  let memberCount = 1;
  let trustedUntilMs = 0;
  /** Why connections failed since Redis went away; each reason is logged once. */
  const reasons = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  const marksLost = () => {
    for (const listener of marksLostListeners) listener();
  };
  const away = (err?: unknown) => {
    if (state === 'away') return;
    state = 'away';
    // stop() has closed the connection.
    if (stopped) return;
    log.warn({ err }, 'redis cannot be asked; limits are kept locally, revocations are asked of auth');
    schedule(awayWatchMs);
  };
  redis.on('error', (err: Error) => {
    if (state === 'usable') return away(err);
    // A wrong password or certificate shows here alone: what waits for the connection hears that it is closed.
    if (stopped || reasons.has(err.message)) return;
    reasons.add(err.message);
    log.warn({ err }, 'redis cannot be reached');
  });
  redis.on('ready', () => {
    connected = true;
    void probe();
  });
  redis.on('close', () => {
    away(new Error('the connection is closed'));
    if (connected) marksLost();
    connected = false;
  });

  const ask = async () => {
    const nowMs = Date.now();
    const askedAtMs = performance.now();
    const pipeline = redis.pipeline().set(epochKey, randomUUID(), 'NX').get(epochKey).info('server');
    pipeline.get(confirmedKey).pttl(confirmedKey);
    if (isMember()) pipeline.zadd(membersKey, nowMs, id).pexpire(membersKey, memberTtlMs);
    pipeline.zremrangebyscore(membersKey, '-inf', nowMs - memberTtlMs).zcard(membersKey);
    const answers = (await withTimeout(pipeline.exec(), probeTimeoutMs)) ?? [];
    for (const [error] of answers) if (error) throw error;
    const runId = runIdOf(String(answers[2]?.[1]));
    const isConfirmed = answers[3]?.[1] === runId;
    // However the clock of Redis is set meanwhile, nothing is trusted for longer than this.
    const trustMs = Math.min(Number(answers[4]?.[1]), marksTrustMs);
    return {
      runId,
      epoch: String(answers[1]?.[1]),
      trustedUntilMs: isConfirmed ? askedAtMs + trustMs : 0,
      members: Number(answers.at(-1)?.[1]),
    };
  };

  const probe = async () => {
    if (redis.status !== 'ready') return schedule(awayWatchMs);
    try {
      const { runId, epoch, members, trustedUntilMs: trusted } = await ask();
      const changed = known !== undefined && (known.runId !== runId || known.epoch !== epoch);
      known = { runId, epoch };
      memberCount = Math.max(1, members);
      const trustBegins = !isTrusted(trustedUntilMs) && isTrusted(trusted);
      trustedUntilMs = trusted;
      if (state === 'away') log.info('redis answers');
      reasons.clear();
      state = 'usable';
      if (changed || trustBegins) marksLost();
    } catch (error) {
      away(error);
    }
    schedule(state === 'away' ? awayWatchMs : watchMs);
  };
  const schedule = (delayMs: number) => {
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(() => void probe(), delayMs);
  };

  return {
    usable: () => state === 'usable' && redis.status === 'ready',
    failed: away,
    marksTrustedUntilMs: () => trustedUntilMs,
    members: () => memberCount,
    onMarksLost(listener) {
      marksLostListeners.add(listener);
      return () => marksLostListeners.delete(listener);
    },
    async start() {
      // A Redis that is away at the start is as one that goes away later.
      await redis.connect().then(probe, () => {});
      if (state === 'away') schedule(awayWatchMs);
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
      redis.disconnect();
    },
  };
}

/** Of what INFO answers: a server has another one after each start. */
export function runIdOf(info: string): string {
  return /run_id:(\w+)/.exec(info)?.[1] ?? '';
}

function isTrusted(untilMs: number): boolean {
  return performance.now() < untilMs;
}
