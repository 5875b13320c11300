-- Put behind the prelude in front of the lock scripts: how a free lock finds its next holder.
--
-- <base>holder is a hash with the lease's TTL, <base>fence the last token. <base>waiters is a zset, owner by order
-- of arrival; <base>waiting a hash, owner to '<deadline> <ttl> <channel of its process>'.

-- Makes `owner` the holder of a free lock. Its token is above the last one and, should that one be lost, above
-- all that were minted at an earlier time.
local function hold_lock(owner, ttl, keep_fence)
  local token = int(math.max((tonumber(redis.call('GET', base .. 'fence')) or 0) + 1, now_us))
  redis.call('SET', base .. 'fence', token, 'PX', keep_fence)
  redis.call('HSET', base .. 'holder', 'owner', owner, 'fencing_token', token, 'acquired_at', int(now))
  redis.call('PEXPIRE', base .. 'holder', ttl)
  return token
end

local function leave_line(waiter)
  redis.call('ZREM', base .. 'waiters', waiter)
  redis.call('HDEL', base .. 'waiting', waiter)
end

-- Gives a free lock to the first waiter that lives, and tells its process. `caller` (or nil) is whoever asks for
-- the lock right now: it lives and reads the reply, in the line or behind it. A waiter whose process does not
-- listen is dead or reconnecting: it is passed over and keeps its place until its deadline. One that listens but
-- does not take the lock up within `take_up` loses it. Returns the caller's token if it got the lock.
local function grant_first_live(caller, ttl, take_up, keep_fence)
  local silent, passed_over, waiter = {}, 0, nil
  repeat
    waiter = redis.call('ZRANGE', base .. 'waiters', passed_over, passed_over)[1]
    if waiter and waiter ~= caller then
      local details = redis.call('HGET', base .. 'waiting', waiter) or '0 0 -'
      local deadline, waiter_ttl, channel = string.match(details, '^(%d+) (%d+) (.+)$')
      if tonumber(deadline) <= now then
        leave_line(waiter)
      elseif silent[channel] or redis.call('PUBLISH', channel, waiter) == 0 then
        silent[channel] = true
        passed_over = passed_over + 1
      else
        leave_line(waiter)
        hold_lock(waiter, math.min(tonumber(waiter_ttl), take_up), keep_fence)
        return nil
      end
    end
  until not waiter or waiter == caller
  if not caller then return nil end
  if waiter then leave_line(waiter) end
  return hold_lock(caller, ttl, keep_fence)
end
