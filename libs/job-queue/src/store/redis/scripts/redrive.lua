#!lua flags=allow-oom
-- Moves a dead job back to the tail of the queue with all its attempts; its error and checkpoint stay.
--
-- ARGV    job id
-- Returns { 'moved', 'dead' } | { 'illegal', status } | { 'not_found' }
--         | { 'key_taken', 'dedup' | 'idempotency', job that owns it now or '' }

local id = ARGV[1]
local run_key = base .. 'run:' .. id
local run = redis.call('HMGET', run_key, 'status', 'attempt', 'priority')
local status = status_of(id, run[1])

if not status then return { 'not_found' } end
if status ~= 'dead' then return { 'illegal', status } end

local keys = redis.call('HMGET', run_key, 'dedup_key', 'dedup_type', 'dedup_keep_when_dead', 'idempotency_key',
  'idempotency_fingerprint')
local owner = keys[1] and dedup_owner(keys[1])
if owner and owner ~= id then return { 'key_taken', 'dedup', owner } end
if keys[4] then
  local record_key = base .. 'idempotency:' .. keys[4]
  redis.call('HSETNX', record_key, 'fingerprint', keys[5])
  if redis.call('HGET', record_key, 'fingerprint') ~= keys[5] then return { 'key_taken', 'idempotency', '' } end
  redis.call('HINCRBY', record_key, 'pending', 1)
end
if keys[1] and not owner then
  redis.call('UNLINK', base .. 'dedup:' .. keys[1])
  redis.call('HSET', base .. 'dedup:' .. keys[1], 'job_id', id, 'type', keys[2])
  if keys[3] then redis.call('HSET', base .. 'dedup:' .. keys[1], 'keep_when_dead', keys[3]) end
end

redis.call('ZREM', base .. 'dead', id)
redis.call('HSET', run_key, 'status', 'queued', 'attempt', 0, 'updated_at', int(now))
redis.call('HINCRBY', run_key, 'redrive_count', 1)
redis.call('HINCRBY', run_key, 'attempts_before_redrive', tonumber(run[2]) or 0)
redis.call('HDEL', run_key, 'dead_reason', 'first_refused_at', 'cancel_requested_at')
redis.call('RPUSH', queued_key(run[3]), id)
count('redriven', 1)
wake()
return { 'moved', 'dead' }
