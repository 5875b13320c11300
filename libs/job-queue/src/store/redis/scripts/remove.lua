#!lua flags=allow-oom
-- Deletes a job that is not running, with everything stored of it.
--
-- ARGV    job id
-- Returns { 'moved', former status } | { 'illegal', status } | { 'not_found' }

local id = ARGV[1]
local status = status_of(id, redis.call('HGET', base .. 'run:' .. id, 'status'))

if not status then return { 'not_found' } end
if status == 'processing' then return { 'illegal', status } end
if status == 'queued' then
  leave_entry(id)
else
  redis.call('ZREM', base .. (status == 'retrying' and 'retry' or status), id)
end
local keys = keys_of(id)
if status == 'done' or status == 'dead' or status == 'cancelled' then
  -- What it held was passed on when it ended; a dead one may have kept its dedup key.
  if keys[3] then leave_dedup(id, keys[3], status, true) end
else
  leave_keys(id, keys, status, true)
end
forget(id)
return { 'moved', status }
