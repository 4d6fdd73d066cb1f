/**
 * One request's whole check as one atomic step, in one round trip.
 * KEYS: mark of key changes, rate (GCRA's theoretical arrival time), monthly counter; all in the slot of the workspace.
 * ARGV: version of the key, microseconds a request costs (0: no rate limit), burst, quota (0: none), seconds until the
 * month ends.
 * Answers {outcome, rate remaining, rate retry after µs, rate reset µs, quota remaining, changed}; outcome 0 allowed,
 * 1 rate limited, 2 quota exceeded; changed 1 if the mark names a later version. A refused request costs nothing.
 */
export const checkScript = `
local mark = redis.call('GET', KEYS[1])
local changed = mark and tonumber(mark) > tonumber(ARGV[1]) and 1 or 0
local emission, burst, quota = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local remaining, reset, arrival, now = 0, 0, nil, 0
if emission > 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
  local earliest = math.max(tonumber(redis.call('GET', KEYS[2]) or now), now)
  arrival = earliest + emission
  local allow_at = arrival - emission * burst
  if allow_at > now then
    return {1, 0, math.ceil(allow_at - now), math.ceil(earliest - now), 0, changed}
  end
  remaining = math.floor((now - allow_at) / emission)
  reset = math.ceil(arrival - now)
end
local left = 0
if quota > 0 then
  local used = tonumber(redis.call('GET', KEYS[3]) or '0')
  if used >= quota then return {2, remaining, 0, reset, 0, changed} end
  used = redis.call('INCR', KEYS[3])
  if used == 1 then redis.call('EXPIRE', KEYS[3], ARGV[5] + 86400) end
  left = quota - used
end
if arrival then redis.call('SET', KEYS[2], string.format('%.0f', arrival), 'PX', math.ceil(reset / 1000) + 1) end
return {0, remaining, 0, reset, left, changed}
`;

/** Counts one failed authentication. KEYS: the address. ARGV: µs it costs, burst. Answers µs to wait, 0 if within. */
export const failureScript = `
local emission, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local earliest = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now)
local arrival = earliest + emission
local allow_at = arrival - emission * burst
if allow_at > now then return math.ceil(allow_at - now) end
redis.call('SET', KEYS[1], string.format('%.0f', arrival), 'PX', math.ceil((arrival - now) / 1000) + 1)
return 0
`;

/** Sets a mark, unless one of a later version stands. KEYS: the mark. ARGV: version, time to live in ms. */
export const markScript = `
local mark = redis.call('GET', KEYS[1])
if mark and tonumber(mark) > tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[2])
else redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
return 1
`;

/** Raises a monthly counter. KEYS: the counter. ARGV: what was used, seconds until the month ends. */
export const raiseQuotaScript = `
if tonumber(redis.call('GET', KEYS[1]) or '0') < tonumber(ARGV[1]) then
  redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2] + 86400)
end
return 1
`;
