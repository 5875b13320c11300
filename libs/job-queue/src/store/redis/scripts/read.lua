#!lua flags=no-writes
-- Reads jobs with everything stored of them, each as one consistent picture.
--
-- ARGV    job ids
-- Returns per job: false, or { status, spec or '', run as flat field-value list, result or '', error or '',
--         due time or '', lease deadline or '' }

local reply = {}
for i, id in ipairs(ARGV) do
  local run_status = redis.call('HGET', base .. 'run:' .. id, 'status')
  local status = status_of(id, run_status)
  reply[i] = status and {
    status,
    redis.call('GET', base .. 'job:' .. id) or '',
    redis.call('HGETALL', base .. 'run:' .. id),
    redis.call('GET', base .. 'result:' .. id) or '',
    redis.call('GET', base .. 'error:' .. id) or '',
    redis.call('ZSCORE', base .. (status == 'retrying' and 'retry' or 'scheduled'), id) or '',
    redis.call('ZSCORE', base .. 'processing', id) or '',
  }
end
return reply
