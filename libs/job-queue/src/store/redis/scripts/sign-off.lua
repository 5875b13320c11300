#!lua flags=allow-oom
-- Ends a worker's record. If it still holds leases the record stays, so that the reaper finds them.
--
-- ARGV    worker id
-- Returns nothing

local held_key = base .. 'held:' .. ARGV[1]
if redis.call('EXISTS', held_key) == 0 then
  redis.call('ZREM', base .. 'workers', ARGV[1])
  redis.call('UNLINK', base .. 'worker:' .. ARGV[1])
end
