/**
 * One request's whole check as one atomic step, in one round trip.
 * KEYS: revocation mark, rate (GCRA's theoretical arrival time), monthly counter; all in the slot of the workspace.
 * ARGV: microseconds a request costs (0: no rate limit), burst, quota (0: none), seconds until the month ends.
 * Answers {outcome, rate remaining, rate retry after µs, rate reset µs, quota remaining}; outcome 0 allowed, 1 revoked,
 * 2 rate limited, 3 quota exceeded. A refused request costs nothing.
 */
export const checkScript = `
if redis.call('EXISTS', KEYS[1]) == 1 then return {1, 0, 0, 0, 0} end
local emission, burst, quota = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local remaining, reset, arrival, now = 0, 0, nil, 0
if emission > 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
  local earliest = math.max(tonumber(redis.call('GET', KEYS[2]) or now), now)
  arrival = earliest + emission
  local allow_at = arrival - emission * burst
  if allow_at > now then
    return {2, 0, math.ceil(allow_at - now), math.ceil(earliest - now), 0}
  end
  remaining = math.floor((now - allow_at) / emission)
  reset = math.ceil(arrival - now)
end
local left = 0
if quota > 0 then
  local used = tonumber(redis.call('GET', KEYS[3]) or '0')
  if used >= quota then return {3, remaining, 0, reset, 0} end
  used = redis.call('INCR', KEYS[3])
  if used == 1 then redis.call('EXPIRE', KEYS[3], ARGV[4] + 86400) end
  left = quota - used
end
if arrival then redis.call('SET', KEYS[2], string.format('%.0f', arrival), 'PX', math.ceil(reset / 1000) + 1) end
return {0, remaining, 0, reset, left}
`;
