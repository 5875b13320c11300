#!lua flags=allow-oom
-- Forgets an operation that came to nothing, as if it had never begun.
--
-- KEYS    the record
-- ARGV    fencing token
-- Returns 1, or 0 when the claim is lost or completed; nothing is changed then

local record = KEYS[1]
local token = ARGV[1]

local known = redis.call('HMGET', record, 'status', 'fencing_token')
if known[1] ~= 'processing' or known[2] ~= token then return 0 end

redis.call('UNLINK', record)
return 1
