#!lua flags=allow-oom
-- Takes a lock, or stands in line for it. Called again by the same owner it takes up a lock that was granted
-- meanwhile, and else shows that the waiter lives: it keeps its place.
--
-- ARGV    owner, ttl in ms, longest wait in ms (0: do not stand in line), channel of the waiter's process,
--         most ms until a waiter asks again, ms by which it may be late, ms to take up a granted lock,
--         ms to remember the last token, ms by which each in the line asks later than the one in front
-- Returns { token or '' when somebody else holds it, ms until the waiter should ask again }

local owner, ttl, wait, channel = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local recheck_limit, grace, take_up, keep_fence = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8]
local step = tonumber(ARGV[9])
local waiters_key, waiting_key = base .. 'waiters', base .. 'waiting'

local holder = redis.call('HMGET', KEYS[1], 'owner', 'fencing_token')
if holder[1] == owner then
  redis.call('PEXPIRE', KEYS[1], ttl)
  return { holder[2], 0 }
end
if not holder[1] then
  local token = grant_first_live(owner, ttl, take_up, keep_fence)
  if token then return { token, 0 } end
end
if wait == 0 then return { '', 0 } end

-- Arrival order. Not the time alone: it can stand still or go back.
local last = redis.call('ZRANGE', waiters_key, -1, -1, 'WITHSCORES')[2]
redis.call('ZADD', waiters_key, 'NX', int(math.max(now_us, (tonumber(last) or 0) + 1)), owner)
-- When the holder's time is up the first in line asks, a little later the second, and so on: however many have died,
-- somebody comes soon, and a long line does not come all at once.
local left = math.max(1, redis.call('PTTL', KEYS[1]))
local recheck = math.min(left + 1 + step * redis.call('ZRANK', waiters_key, owner), recheck_limit)
local deadline = now + math.min(wait, recheck + grace)
redis.call('HSET', waiting_key, owner, int(deadline) .. ' ' .. int(ttl) .. ' ' .. channel)
-- No deadline is later than this, so nothing is left when every waiter has died.
redis.call('PEXPIRE', waiters_key, recheck_limit + grace)
redis.call('PEXPIRE', waiting_key, recheck_limit + grace)
return { '', recheck }
