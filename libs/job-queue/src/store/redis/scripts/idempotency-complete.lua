#!lua flags=allow-oom
-- Ends an operation and keeps its result. Accepted if and only if the token is the record's current one; the
-- same token again changes nothing and is told the same, so a call whose reply was lost can be repeated.
--
-- KEYS    the record
-- ARGV    fencing token, result (JSON), ms for which the result is kept
-- Returns 1, or 0 when the claim is lost; nothing is written then

local record = KEYS[1]
local token, result, ttl_ms = ARGV[1], ARGV[2], tonumber(ARGV[3])

local known = redis.call('HMGET', record, 'status', 'fencing_token')
-- Of one that was released the token is still there, but no status.
if not known[1] or known[2] ~= token then return 0 end
if known[1] == 'done' then return 1 end

redis.call('HSET', record, 'status', 'done', 'result', result, 'completed_at', int(now),
  'expires_at', int(now + ttl_ms))
redis.call('HDEL', record, 'lease_expires_at')
redis.call('PEXPIRE', record, int(ttl_ms))
return 1
