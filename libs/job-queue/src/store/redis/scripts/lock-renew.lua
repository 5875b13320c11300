#!lua flags=allow-oom
-- Prolongs a lease on a lock. Only its owner can, and only while nobody took it or deleted it.
--
-- ARGV    owner, fencing token, ttl in ms
-- Returns 1, or 0 when the lease is lost

local holder = redis.call('HMGET', KEYS[1], 'owner', 'fencing_token')
if holder[1] ~= ARGV[1] or holder[2] ~= ARGV[2] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
