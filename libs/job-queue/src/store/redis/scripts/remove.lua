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
forget(id)
return { 'moved', status }
