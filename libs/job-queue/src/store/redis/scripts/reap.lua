#!lua flags=allow-oom
-- Ends leases that nobody renewed and gives their jobs back to the head of the queue. Knows no limits:
-- a job that used up its attempts is buried by the worker that claims it next.
--
-- ARGV    ms of silence after which a worker's records are searched, most jobs to reap,
--         ms of silence after which a worker that holds nothing is forgotten, how many cancelled jobs are kept
-- Returns { '1' if the limit was reached else '0', '1' if jobs are blocked else '0', then per lease: job id, attempt, fencing token or '',
--           worker id or '', new status }

local silence_ms, limit, forget_ms, keep = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local processing_key = base .. 'processing'
local reply = { '0', '0' }
local cancelled, reaped = 0, 0

local function reap(id, run)
  local run_key = base .. 'run:' .. id
  local status = run[6] and 'cancelled' or 'queued'
  redis.call('ZREM', processing_key, id)
  if status == 'cancelled' then
    leave_keys(id, { run[7], run[8], run[9] }, 'cancelled', keep == 0)
    finish(id, 'cancelled', keep)
    cancelled = cancelled + 1
  else
    redis.call('HSET', run_key, 'status', status, 'updated_at', int(now))
    -- Its run is gone, and nobody can tell whether it had an error or a checkpoint.
    if not run[1] then redis.call('HSET', run_key, 'attached', '1') end
    redis.call('HDEL', run_key, 'fencing_token')
    redis.call('LPUSH', queued_key(run[5]), id)
    -- It keeps its place on its resource; an operation that somebody else can do shall not wait for it.
    reserve_key(id, 'resource', run[7])
    release_key(id, 'idempotency', run[8])
  end
  for _, value in ipairs({ id, run[2] or '0', run[3] or '', run[4] or '', status }) do table.insert(reply, value) end
  reaped = reaped + 1
end

local function read_run(id)
  return redis.call('HMGET', base .. 'run:' .. id, 'status', 'attempt', 'fencing_token', 'worker_id', 'priority',
    'cancel_requested_at', 'resource_key', 'idempotency_key', 'dedup_key')
end

local expired = redis.call('ZRANGE', processing_key, '-inf', int(now), 'BYSCORE', 'LIMIT', 0, limit)
if #expired == limit then reply[1] = '1' end
-- Backwards, because each goes to the head: the one that expired first runs first.
for i = #expired, 1, -1 do
  local run = read_run(expired[i])
  if run[1] == 'processing' then
    reap(expired[i], run)
  elseif not run[1] and status_of(expired[i], false) == 'queued' then
    -- Its run was deleted by hand or evicted; the spec is enough to run it again.
    reap(expired[i], run)
  else
    redis.call('ZREM', processing_key, expired[i])
  end
end

-- A lease entry can vanish (eviction, a hand, a failover). While its worker lives the heartbeat re-adds it.
-- Returns whether the record is still of use: the worker holds the job, or nothing else says who does.
local function look_for_lease(id, token)
  if redis.call('ZSCORE', processing_key, id) then
    local run = redis.call('HMGET', base .. 'run:' .. id, 'status', 'fencing_token')
    return not run[1] or run[1] == 'processing' and run[2] == token
  end
  local run = read_run(id)
  if run[1] == 'processing' and run[3] == token then
    reap(id, run)
    return false
  end
  if redis.call('EXISTS', base .. 'run:' .. id) == 1 or status_of(id, false) ~= 'queued' then return false end
  -- Without a run nothing but this record knows of the job, unless it has ended and the id was enqueued again.
  if redis.call('LPOS', queued_key(), id, 'MAXLEN', 10000) then return false end
  if redis.call('LLEN', queued_key()) > 10000 then return true end
  reap(id, run)
  return false
end

for _, worker in ipairs(redis.call('ZRANGE', base .. 'workers', '-inf', int(now - silence_ms), 'BYSCORE')) do
  local held_key = base .. 'held:' .. worker
  local records = redis.call('HGETALL', held_key)
  local is_holder = false
  for i = 1, #records, 2 do
    local is_of_use = false
    each_held(records[i + 1], function(id, token) is_of_use = look_for_lease(id, token) or is_of_use end)
    if is_of_use then is_holder = true else redis.call('HDEL', held_key, records[i]) end
  end
  if not is_holder and tonumber(redis.call('ZSCORE', base .. 'workers', worker)) < now - forget_ms then
    redis.call('ZREM', base .. 'workers', worker)
    redis.call('UNLINK', base .. 'worker:' .. worker)
  end
end

if redis.call('EXISTS', base .. 'blocked') == 1 then reply[2] = '1' end
count('lost_leases', reaped)
count('cancelled', cancelled)
if reaped > cancelled then wake() end
return reply
