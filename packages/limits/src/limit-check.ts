import type { Redis } from 'ioredis';
import type { KeyChange, LimitCheck, LimitState, Limits } from './limiter.ts';

/** A rate limit in terms of the generic cell rate algorithm (GCRA): a steady rate with a burst of a window. */
export interface Rate {
  /** Requests that may arrive together. */
  readonly burst: number;
  /** Cost of a request in microseconds. */
  readonly emissionUs: number;
}

/** Returns the rate of `requests` per window; undefined for 0, which means no limit. */
function rateOf(requests: number, windowSeconds: number): Rate | undefined {
  if (requests === 0) return undefined;
  // An integer, so that the burst is exact.
  const emissionUs = Math.max(1, Math.floor((windowSeconds * 1e6) / requests));
  return { burst: requests, emissionUs };
}

/** The rate limits that apply to a request. */
export interface Rates {
  /** Limit of the key. */
  readonly own: Rate | undefined;
  /** Limit of the workspace and environment. */
  readonly workspace: Rate | undefined;
}

/** Returns the limits that a check applies. The rate limits of a key and of its workspace share one window. */
export function appliedLimits({ limits, refused }: LimitCheck, otherwise: Limits) {
  const { rateLimitRequests, workspaceRateLimitRequests, rateLimitWindowSeconds, monthlyQuota } = limits ?? otherwise;
  const rates: Rates = {
    own: rateOf(rateLimitRequests, rateLimitWindowSeconds),
    workspace: refused ? undefined : rateOf(workspaceRateLimitRequests, rateLimitWindowSeconds),
  };
  return { rates, quota: refused ? 0 : monthlyQuota };
}

/** Returns the rate limit for failed authentications per address. */
export function failureRateOf({ authFailureLimit }: { authFailureLimit: number }): Rate | undefined {
  return rateOf(authFailureLimit, 60);
}

/**
 * Computes one step of the algorithm. `arrivalUs` is the stored theoretical arrival time, 0 if no state is stored. A
 * time later than a full burst from now means that the clock was set back; that bound replaces it. `arrivalUs` of the
 * result must be stored, even if the request is rejected. `arrival_of` and `step` in the scripts below do the same on Redis.
 */
export function gcraStep({ burst, emissionUs }: Rate, arrivalUs: number, nowUs: number) {
  const earliestUs = Math.max(Math.min(arrivalUs, nowUs + emissionUs * burst), nowUs);
  const nextUs = earliestUs + emissionUs;
  const allowAtUs = nextUs - emissionUs * burst;
  if (allowAtUs > nowUs) {
    const [retryAfterUs, resetUs] = [allowAtUs - nowUs, earliestUs - nowUs];
    return { allowed: false as const, arrivalUs: earliestUs, remaining: 0, retryAfterUs, resetUs };
  }
  const remaining = Math.floor((nowUs - allowAtUs) / emissionUs);
  return { allowed: true as const, arrivalUs: nextUs, remaining, retryAfterUs: 0, resetUs: nextUs - nowUs };
}

/** Describes a rate limit after a step. The time until the full burst is available is rounded up to seconds. */
export function rateState(rate: Rate, remaining: number, resetUs: number): LimitState {
  return { limit: rate.burst, remaining, resetSeconds: Math.ceil(resetUs / 1e6) };
}

/** Converts microseconds to seconds, rounded up, at least 1. */
export function wholeSeconds(us: number): number {
  return Math.max(1, Math.ceil(us / 1e6));
}

/** Returns the month as "202611" and the seconds until the next month, in UTC. */
export function monthOf(nowMs: number): { month: string; endsInSeconds: number } {
  const now = new Date(nowMs);
  const end = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
  const month = `${now.getUTCFullYear()}${String(now.getUTCMonth() + 1).padStart(2, '0')}`;
  return { month, endsInSeconds: Math.max(1, Math.ceil((end - nowMs) / 1000)) };
}

/** Returns the Redis key of a revocation marker. */
export function markerKey({ workspaceId, keyId }: Pick<KeyChange, 'workspaceId' | 'keyId'>): string {
  return `rms:{${workspaceId}}:mark:${keyId}`;
}

/** Reply of {@link checkScript}. Times are in microseconds. */
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
/** A connection with the limiter's scripts. */
export type Scripted = Redis & {
  rmsCheck(...args: (string | number)[]): Promise<CheckReply>;
  rmsCountFailure(address: string, emissionUs: number, burst: number): Promise<number>;
  rmsSetMarker(setMarkers: string, version: number, ttlMs: number): Promise<number>;
  rmsRaiseQuota(counter: string, used: number, endsInSeconds: number): Promise<number>;
};

/**
 * Defines `arrival_of(key, emission, burst, now)`: the stored theoretical arrival time of GCRA in microseconds, at
 * least `now` and at most a full burst later. A later time is replaced: the clock was set back, or a server with a
 * clock that is behind took over. Otherwise requests would be rejected until the clock has caught up.
 */
const arrivalFunction = `
local function arrival_of(key, emission, burst, now)
  local stored = tonumber(redis.call('GET', key) or now)
  local latest = now + emission * burst
  if stored > latest then
    stored = latest
    redis.call('SET', key, string.format('%.0f', stored), 'PX', math.ceil(emission * burst / 1000) + 1)
  end
  return math.max(stored, now)
end
`;

/**
 * Checks the revocation marker, rate limits and quota of a request, in one atomic script and one round trip.
 *
 * KEYS: revocation marker, rate limit states of the key and of the workspace (GCRA's theoretical arrival times),
 * monthly counter; all in the workspace's slot.
 *
 * ARGV: key version; cost of a request in microseconds (0: no rate limit) and burst, for the key and then for the
 * workspace; quota (0: none); seconds until the month ends.
 *
 * Returns {outcome, retry after in µs, remaining requests and reset in µs of the key and then of the workspace,
 * remaining quota, changed}. Outcome: 0 allowed, 1 rate limited, 2 quota exceeded. Changed: 1 if the marker has a later
 * version. A rejected request consumes nothing.
 */
const checkScript = `${arrivalFunction}
local mark = redis.call('GET', KEYS[1])
local changed = mark and tonumber(mark) > tonumber(ARGV[1]) and 1 or 0
local quota = tonumber(ARGV[6])
local now = 0
if ARGV[2] ~= '0' or ARGV[4] ~= '0' then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local function step(key, emission, burst)
  if emission == 0 then return {wait = 0, remaining = 0, reset = 0} end
  local earliest = arrival_of(key, emission, burst, now)
  local arrival = earliest + emission
  local allow_at = arrival - emission * burst
  if allow_at > now then return {wait = math.ceil(allow_at - now), remaining = 0, reset = math.ceil(earliest - now)} end
  return {
    wait = 0, remaining = math.floor((now - allow_at) / emission), reset = math.ceil(arrival - now), arrival = arrival
  }
end
local own = step(KEYS[2], tonumber(ARGV[2]), tonumber(ARGV[3]))
local shared = step(KEYS[3], tonumber(ARGV[4]), tonumber(ARGV[5]))
local function reply(outcome, left)
  local wait = math.max(own.wait, shared.wait)
  return {outcome, wait, own.remaining, own.reset, shared.remaining, shared.reset, left, changed}
end
if own.wait > 0 or shared.wait > 0 then return reply(1, 0) end
local left = 0
if quota > 0 then
  local used = tonumber(redis.call('GET', KEYS[4]) or '0')
  if used >= quota then return reply(2, 0) end
  used = redis.call('INCR', KEYS[4])
  if used == 1 then redis.call('EXPIRE', KEYS[4], ARGV[7] + 86400) end
  left = quota - used
end
for i, one in ipairs({own, shared}) do
  if one.arrival then
    redis.call('SET', KEYS[1 + i], string.format('%.0f', one.arrival), 'PX', math.ceil(one.reset / 1000) + 1)
  end
end
return reply(0, left)
`;

/** Counts a failed authentication. KEYS: the address. ARGV: cost in µs, burst. Returns µs to wait, 0 if allowed. */
const failureScript = `${arrivalFunction}
local emission, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local earliest = arrival_of(KEYS[1], emission, burst, now)
local arrival = earliest + emission
local allow_at = arrival - emission * burst
if allow_at > now then return math.ceil(allow_at - now) end
redis.call('SET', KEYS[1], string.format('%.0f', arrival), 'PX', math.ceil((arrival - now) / 1000) + 1)
return 0
`;

/** Sets a marker unless it has a later version. KEYS: the marker. ARGV: version, TTL in ms. */
const markerScript = `
local mark = redis.call('GET', KEYS[1])
if mark and tonumber(mark) > tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[2])
else redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
return 1
`;

/** Raises a monthly counter. KEYS: the counter. ARGV: requests used, seconds until the month ends. */
const raiseQuotaScript = `
if tonumber(redis.call('GET', KEYS[1]) or '0') < tonumber(ARGV[1]) then
  redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2] + 86400)
end
return 1
`;

/** Defines the scripts on a connection. Afterwards, it is {@link Scripted}. */
export function defineScripts(redis: Redis): void {
  redis.defineCommand('rmsCheck', { numberOfKeys: 4, lua: checkScript });
  redis.defineCommand('rmsCountFailure', { numberOfKeys: 1, lua: failureScript });
  redis.defineCommand('rmsSetMarker', { numberOfKeys: 1, lua: markerScript });
  redis.defineCommand('rmsRaiseQuota', { numberOfKeys: 1, lua: raiseQuotaScript });
}
