#!lua flags=allow-oom
-- A worker's heartbeat: renews every lease it holds and records that it lives.
-- An expired lease that nobody has reaped is still its owner's: refusing it would only run the job twice.
--
-- ARGV    worker id, lease in ms, host, pid, slots, then per lease: job id, fencing token
-- Returns { ids of lost leases, ids whose cancellation was requested }
-- Errors  PARTITIONED when the queue is spread over partitions, which have other keys than these.
--         LAYOUT when the queue's keys were written by a version that lays them out differently.

local worker, lease_ms = ARGV[1], tonumber(ARGV[2])
local deadline = int(now + lease_ms)
local lost, cancel_requested = {}, {}
local LAYOUT = '1'

redis.call('HSETNX', KEYS[1], 'version', LAYOUT)
redis.call('HSETNX', KEYS[1], 'created_at', int(now))
local layout, partitions = unpack(redis.call('HMGET', KEYS[1], 'version', 'partitions'))
if partitions then return redis.error_reply('PARTITIONED ' .. partitions) end
if layout ~= LAYOUT then return redis.error_reply('LAYOUT ' .. layout .. ', this version reads ' .. LAYOUT) end

for i = 6, #ARGV, 2 do
  local id, token = ARGV[i], ARGV[i + 1]
  local run_key = base .. 'run:' .. id
  local run = redis.call('HMGET', run_key, 'status', 'fencing_token', 'cancel_requested_at')
  if run[1] == 'processing' and run[2] == token then
    redis.call('HSET', run_key, 'heartbeat_at', int(now))
    -- ZADD, not ZADD XX: an entry that was evicted or deleted comes back.
    redis.call('ZADD', base .. 'processing', deadline, id)
    if run[3] then table.insert(cancel_requested, id) end
  else
    table.insert(lost, id)
  end
end

redis.call('ZADD', base .. 'workers', int(now), worker)
redis.call('HSET', base .. 'worker:' .. worker, 'host', ARGV[3], 'pid', ARGV[4], 'slots', ARGV[5])
return { lost, cancel_requested }
