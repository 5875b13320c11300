#!lua flags=allow-oom
-- Answers a claim whose reply was lost: the jobs of that call that are still this worker's, with their
-- leases renewed. `held:<worker>` knows of each job which call claimed it.
--
-- ARGV    worker id, lane, number of the call, lease in ms
-- Returns as claim.lua

local worker, lane, number, lease_ms = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local reply = { int(now), '1', -1, {}, {} }

local held = redis.call('HGETALL', base .. 'held:' .. worker)
for i = 1, #held, 2 do
  local id, token = held[i], string.match(held[i + 1], '^(%d+):' .. lane .. ':' .. number .. '$')
  local run = redis.call('HMGET', base .. 'run:' .. id, 'status', 'fencing_token', 'attempt', 'first_refused_at')
  if token and run[1] == 'processing' and run[2] == token then
    redis.call('ZADD', base .. 'processing', int(now + lease_ms), id)
    for _, value in ipairs({ id, token, run[3], run[4] or '', redis.call('GET', base .. 'job:' .. id) or '' }) do
      table.insert(reply, value)
    end
  end
end
-- More may be ready by now, or something due: the '1' makes the worker claim again, which tells.
return reply
