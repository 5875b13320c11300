#!lua flags=allow-oom
-- Renews the lease on an operation. An expired lease that nobody has taken over is still its owner's.
--
-- KEYS    the record
-- ARGV    fencing token, lease in ms, ms for which an abandoned claim is remembered
-- Returns 1, or 0 when the token is not the current one of a running operation

local record = KEYS[1]
local token, lease_ms, remember_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local known = redis.call('HMGET', record, 'status', 'fencing_token')
if known[1] ~= 'processing' or known[2] ~= token then return 0 end

redis.call('HSET', record, 'lease_expires_at', int(now + lease_ms))
redis.call('PEXPIRE', record, int(lease_ms + remember_ms))
return 1
