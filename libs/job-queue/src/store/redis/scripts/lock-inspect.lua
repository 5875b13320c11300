#!lua flags=no-writes
-- Who holds a lock and who waits for it, first in line first. Waiters that are dead but not yet dropped do not count.
--
-- ARGV    most waiters to list
-- Returns { owner or '', token, ms left, time it was acquired, then the owners that wait }

local holder = redis.call('HMGET', KEYS[1], 'owner', 'fencing_token', 'acquired_at')
local reply = { holder[1] or '', holder[2] or '', redis.call('PTTL', KEYS[1]), holder[3] or '' }
local waiters = redis.call('ZRANGE', base .. 'waiters', 0, tonumber(ARGV[1]) - 1)
for _, waiter in ipairs(waiters) do
  local deadline = string.match(redis.call('HGET', base .. 'waiting', waiter) or '0', '^%d+')
  if tonumber(deadline) > now then table.insert(reply, waiter) end
end
return reply
