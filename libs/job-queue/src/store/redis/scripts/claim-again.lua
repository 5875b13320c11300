#!lua flags=allow-oom
-- Answers a claim whose reply was lost: the jobs of that call that are still this worker's, with their
-- leases renewed. `held:<worker>` knows of each job which call claimed it.
--
-- ARGV    worker id, lane, number of the call, lease in ms
-- Returns as claim.lua

local held_key, call, lease_ms = base .. 'held:' .. ARGV[1], ARGV[2] .. ':' .. ARGV[3], tonumber(ARGV[4])
-- More may be ready by now, or something due: the '1' makes the worker claim again, which tells.
local reply = { int(now), '1', -1, {}, {} }

each_held(redis.call('HGET', held_key, call) or '', function(id, token)
  local run = redis.call('HMGET', base .. 'run:' .. id, 'status', 'fencing_token', 'attempt', 'first_refused_at')
  if run[1] ~= 'processing' or run[2] ~= token then return end
  redis.call('ZADD', base .. 'processing', int(now + lease_ms), id)
  local attempt = run[4] and run[3] .. ' ' .. run[4] or run[3]
  for _, value in ipairs({ id, token, attempt, redis.call('GET', base .. 'job:' .. id) or '' }) do table.insert(reply, value) end
end)
-- Without jobs the worker will not tell when they have ended.
if #reply == 5 then redis.call('HDEL', held_key, call) end
return reply
