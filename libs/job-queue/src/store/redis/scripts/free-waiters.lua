#!lua flags=allow-oom
-- Looks at some blocked jobs, others at each call, and wakes those whose key nobody holds any more: the
-- holder's keys, or the list of those who wait, were deleted by hand or evicted.
--
-- ARGV    how many to look at
-- Returns nothing

local limit = tonumber(ARGV[1])
local blocked_key = base .. 'blocked'
local from = tonumber(redis.call('HGET', KEYS[1], 'blocked_position')) or 0
local ids = redis.call('ZRANGE', blocked_key, from, from + limit - 1)

local function free_key_of(blocked_on)
  local kind, key = string.match(blocked_on or '', '^(%a+):(.*)$')
  if kind == 'dedup' then
    if dedup_owner(key) then return false end
    hand_on_dedup(key)
  elseif kind then
    if holder_of(kind, key) then return false end
    hand_on(kind, key)
  end
  return true
end

for _, id in ipairs(ids) do
  local run = redis.call('HMGET', base .. 'run:' .. id, 'status', 'blocked_on', 'priority')
  if run[1] == 'blocked' then
    -- Was it not among those that were woken, although its key is free, then nobody knows that it waits.
    if free_key_of(run[2]) and is_blocked_on(id, run[2]) and not holder_of(string.match(run[2], '^(%a+):(.*)$')) then
      unblock(id, run[3])
    end
  else
    redis.call('ZREM', blocked_key, id)
    if not run[1] and redis.call('EXISTS', base .. 'job:' .. id) == 1 then redis.call('RPUSH', queued_key(), id) end
  end
end

redis.call('HSET', KEYS[1], 'blocked_position', #ids == limit and from + limit or 0)
