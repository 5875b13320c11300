#!lua flags=allow-oom
-- Ends a worker's record. If it still holds leases the record stays, so that the reaper finds them.
--
-- ARGV    worker id
-- Returns nothing

local worker = ARGV[1]
local held_key = base .. 'held:' .. worker
local records = redis.call('HGETALL', held_key)
local holds_any = false
for i = 2, #records, 2 do
  each_held(records[i], function(id, token)
    local run = redis.call('HMGET', base .. 'run:' .. id, 'status', 'fencing_token')
    if run[1] == 'processing' and run[2] == token then holds_any = true end
  end)
end
if not holds_any then
  redis.call('ZREM', base .. 'workers', worker)
  redis.call('UNLINK', base .. 'worker:' .. worker, held_key)
end
