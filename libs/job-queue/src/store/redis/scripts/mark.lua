#!lua flags=no-writes
-- What a store that lost data cannot show any more: since when it has known this queue, and how much it has counted.
--
-- ARGV    none
-- Returns { ms when a worker first wrote its heartbeat, or '', sum of the lifetime counters }

local counted = 0
for _, count in ipairs(redis.call('HVALS', base .. 'stats')) do counted = counted + tonumber(count) end
return { redis.call('HGET', KEYS[1], 'created_at') or '', counted }
