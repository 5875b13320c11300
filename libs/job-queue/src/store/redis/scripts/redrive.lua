#!lua flags=allow-oom
-- Moves a dead job back to the tail of the queue with all its attempts; its error and checkpoint stay.
--
-- ARGV    job id
-- Returns { 'moved', 'dead' } | { 'illegal', status } | { 'not_found' }

local id = ARGV[1]
local run_key = base .. 'run:' .. id
local run = redis.call('HMGET', run_key, 'status', 'attempt', 'priority')
local status = status_of(id, run[1])

if not status then return { 'not_found' } end
if status ~= 'dead' then return { 'illegal', status } end
redis.call('ZREM', base .. 'dead', id)
redis.call('HSET', run_key, 'status', 'queued', 'attempt', 0, 'updated_at', int(now))
redis.call('HINCRBY', run_key, 'redrive_count', 1)
redis.call('HINCRBY', run_key, 'attempts_before_redrive', tonumber(run[2]) or 0)
redis.call('HDEL', run_key, 'dead_reason', 'first_refused_at', 'cancel_requested_at')
redis.call('RPUSH', queued_key(run[3]), id)
count('redriven', 1)
wake()
return { 'moved', 'dead' }
