#!lua flags=allow-oom
-- Cancels a job that is not running; asks the worker of a running one to stop.
--
-- ARGV    job id, how many cancelled jobs are kept
-- Returns { 'moved', former status } | { 'requested' } | { 'illegal', status } | { 'not_found' }

local id, keep = ARGV[1], tonumber(ARGV[2])
local run_key = base .. 'run:' .. id
local status = status_of(id, redis.call('HGET', run_key, 'status'))

if not status then return { 'not_found' } end
if status == 'processing' then
  redis.call('HSETNX', run_key, 'cancel_requested_at', int(now))
  redis.call('HSET', run_key, 'attached', '1')
  return { 'requested' }
elseif status == 'queued' then
  leave_entry(id)
elseif status == 'scheduled' or status == 'blocked' then
  redis.call('ZREM', base .. status, id)
elseif status == 'retrying' then
  redis.call('ZREM', base .. 'retry', id)
else
  return { 'illegal', status }
end
redis.call('HDEL', run_key, 'due_at', 'blocked_on')
leave_keys(id, keys_of(id), 'cancelled', keep == 0)
finish(id, 'cancelled', keep)
count('cancelled', 1)
return { 'moved', status }
