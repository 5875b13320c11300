#!lua
-- Claims the operation of an idempotency key, unless it was done, runs, or was another one. An operation
-- whose lease has run out is taken over. The same owner may begin again: it gets the token it has.
-- Without allow-oom: when Redis is full a new operation is refused before anything happens.
--
-- KEYS    the record
-- ARGV    fingerprint or '', owner, lease in ms, ms for which an abandoned claim is remembered
-- Returns { 'started', fencing token, 1 if taken over else 0 } | { 'replay', result } | { 'conflict' }
--         | { 'busy', ms left of the lease }

local record = KEYS[1]
local fingerprint, owner, lease_ms, remember_ms = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])

local known = redis.call('HMGET', record, 'status', 'fingerprint', 'lease_owner', 'lease_expires_at',
  'fencing_token', 'started_at')
local status, is_own = known[1], known[3] == owner

if fingerprint ~= '' and known[2] and known[2] ~= fingerprint then return { 'conflict' } end
if status == 'done' then return { 'replay', redis.call('HGET', record, 'result') or '' } end
local left_ms = (tonumber(known[4]) or now) - now
if not is_own and left_ms > 0 then return { 'busy', int(left_ms) } end

local token, started_at = known[5], known[6]
if not is_own then
  -- The clock as a floor: the last token is gone when the record expired.
  token = int(math.max((tonumber(known[5]) or 0) + 1, now_us))
  started_at = int(now)
end
redis.call('HSET', record, 'status', 'processing', 'fencing_token', token, 'lease_owner', owner,
  'lease_expires_at', int(now + lease_ms), 'started_at', started_at)
if fingerprint ~= '' then redis.call('HSET', record, 'fingerprint', fingerprint) end
redis.call('PEXPIRE', record, int(lease_ms + remember_ms))
return { 'started', token, (status and not is_own) and 1 or 0 }
