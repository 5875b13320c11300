#!lua flags=no-writes
-- Counts of every status, whether the queue is paused, how long the head of the queue has waited, and the counters.
--
-- ARGV    none
-- Returns { scheduled, queued, blocked, processing, retrying, done, dead, cancelled, '1' if paused else '0',
--           age of the oldest head in ms, counters as flat field-value list }

local queued, oldest_age = 0, 0
for priority = 0, 9 do
  queued = queued + redis.call('LLEN', queued_key(priority))
  -- The head may be an entry that no longer counts; a few further ones are tried, not the whole list.
  for i, id in ipairs(redis.call('LRANGE', queued_key(priority), 0, 9)) do
    if is_queued_at(priority, i - 1, id) then
      local created_at = string.match(redis.call('GETRANGE', base .. 'job:' .. id, 0, 40), '^{"created_at":(%d+)')
      oldest_age = math.max(oldest_age, now - (tonumber(created_at) or now))
      break
    end
  end
end
queued = queued - (tonumber(redis.call('HGET', base .. 'gone', '{total}')) or 0)

local function size(index) return redis.call('ZCARD', base .. index) end
return {
  size('scheduled'), math.max(0, queued), size('blocked'), size('processing'), size('retry'), size('done'), size('dead'), size('cancelled'),
  tostring(redis.call('HEXISTS', KEYS[1], 'paused')), oldest_age, redis.call('HGETALL', base .. 'stats'),
}
