#!lua flags=allow-oom
-- Forgets an operation that came to nothing, as if it had never begun. Of its record only the fencing token stays
-- for a while: the clock may go back, the tokens of a key must not.
--
-- KEYS    the record
-- ARGV    fencing token, ms to remember it
-- Returns 1, or 0 when the claim is lost or completed; nothing is changed then

local record = KEYS[1]
local token, keep_fence = ARGV[1], tonumber(ARGV[2])

local known = redis.call('HMGET', record, 'status', 'fencing_token')
if known[1] ~= 'processing' or known[2] ~= token then return 0 end

redis.call('HDEL', record, 'status', 'fingerprint', 'lease_owner', 'lease_expires_at', 'started_at')
redis.call('PEXPIRE', record, int(keep_fence))
return 1
