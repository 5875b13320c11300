#!lua
-- Stores how far a handler has come, if its token is still the current one.
--
-- ARGV    job id, fencing token, checkpoint (JSON)
-- Returns 1, or 0 when the token is stale

local run = redis.call('HMGET', base .. 'run:' .. ARGV[1], 'status', 'fencing_token')
if run[1] ~= 'processing' or run[2] ~= ARGV[2] then return 0 end
redis.call('HSET', base .. 'run:' .. ARGV[1], 'attached', '1')
redis.call('SET', base .. 'checkpoint:' .. ARGV[1], ARGV[3])
return 1
