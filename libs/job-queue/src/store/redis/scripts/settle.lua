#!lua flags=allow-oom
-- Ends attempts. An outcome is accepted if and only if its token is the current one of a processing job.
--
-- ARGV    worker id, lane, number of the call, how many done, dead and cancelled jobs are kept,
--         then per settlement: job id, fencing token, outcome kind, detail, body
--           done       detail -          body result (JSON) or ''
--           retry      detail delay ms   body error (JSON object)
--           dead       detail reason     body error
--           snooze     detail delay ms   body error
--           release, cancelled: detail and body -
-- Returns the exceptions only, flat: { index from 0, 'cancelled' | 'stale', job status or '', holder or '', … }
--         A number that was used already returns what it returned then.
-- Error   SUPERSEDED when a later number was used.

local worker, lane, number = ARGV[1], ARGV[2], tonumber(ARGV[3])
local keep = { done = tonumber(ARGV[4]), dead = tonumber(ARGV[5]), cancelled = tonumber(ARGV[6]) }
local worker_key = base .. 'worker:' .. worker

local last = redis.call('HMGET', worker_key, 'settle:' .. lane, 'settled:' .. lane, 'claim:' .. lane)
local last_settle, last_claim = tonumber(last[1]) or 0, tonumber(last[3]) or 0
if number < last_settle or number < last_claim then
  return redis.error_reply('SUPERSEDED by call ' .. int(math.max(last_settle, last_claim)))
end
if number == last_settle then return cjson.decode(last[2]) end

local counts = { done = 0, retried = 0, dead = 0, cancelled = 0, released = 0, snoozed = 0, stale_refused = 0 }
local any_waiting = false
local released = {}

-- Back to a waiting index until `due`.
local function wait_in(index, status, id, due, body)
  redis.call('HSET', base .. 'run:' .. id, 'status', status, 'due_at', int(due), 'updated_at', int(now))
  redis.call('ZADD', base .. index, int(due), id)
  redis.call('SET', base .. 'error:' .. id, stamp('at', body))
  any_waiting = true
end

local function end_job(id, status, run)
  if run[6] or run[7] or run[8] then leave_keys(id, { run[6], run[7], run[8] }, status, keep[status] == 0) end
  finish(id, status, keep[status])
end

local function free_keys(id, run)
  for i, kind in ipairs(KINDS) do release_key(id, kind, run[5 + i]) end
end

local apply = {
  done = function(id, _, body, run)
    local operation = run[7]
    if operation then
      local record_key = base .. 'idempotency:' .. operation
      local request = redis.call('HMGET', base .. 'run:' .. id, 'idempotency_fingerprint', 'idempotency_ttl_ms')
      -- An earlier result may have expired since this job was enqueued, and the fingerprint with it.
      redis.call('HSETNX', record_key, 'fingerprint', request[1])
      if redis.call('HGET', record_key, 'fingerprint') == request[1] then
        redis.call('HSET', record_key, 'state', 'done', 'job_id', id, 'fencing_token', run[2], 'result', body)
        redis.call('PEXPIRE', record_key, request[2])
      end
    end
    end_job(id, 'done', run)
    if body ~= '' and keep.done > 0 then redis.call('SET', base .. 'result:' .. id, body) end
    return 'done'
  end,
  retry = function(id, delay, body, run)
    free_keys(id, run)
    wait_in('retry', 'retrying', id, now + tonumber(delay), body)
    redis.call('HDEL', base .. 'run:' .. id, 'first_refused_at')
    return 'retried'
  end,
  dead = function(id, reason, body, run)
    end_job(id, 'dead', run)
    if keep.dead > 0 then
      redis.call('HSET', base .. 'run:' .. id, 'dead_reason', reason)
      redis.call('SET', base .. 'error:' .. id, stamp('at', body))
    end
    return 'dead'
  end,
  cancelled = function(id, _, _, run)
    end_job(id, 'cancelled', run)
    return 'cancelled'
  end,
  release = function(id, _, _, run)
    for i, kind in ipairs(KINDS) do reserve_key(id, kind, run[5 + i]) end
    redis.call('HINCRBY', base .. 'run:' .. id, 'attempt', -1)
    redis.call('HSET', base .. 'run:' .. id, 'status', 'queued', 'updated_at', int(now))
    table.insert(released, { queued_key(run[4]), id })
    any_waiting = true
    return 'released'
  end,
  snooze = function(id, delay, body, run)
    free_keys(id, run)
    wait_in('scheduled', 'scheduled', id, now + tonumber(delay), body)
    redis.call('HINCRBY', base .. 'run:' .. id, 'attempt', -1)
    redis.call('HSETNX', base .. 'run:' .. id, 'first_refused_at', int(now))
    return 'snoozed'
  end,
}

local settled, exceptions = {}, {}
for i = 7, #ARGV, 5 do
  local id, token, kind, detail, body = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  local run = redis.call('HMGET', base .. 'run:' .. id, 'status', 'fencing_token', 'cancel_requested_at', 'priority', 'worker_id',
    'resource_key', 'idempotency_key', 'dedup_key')
  local exception
  if run[1] ~= 'processing' or run[2] ~= token then
    exception = { 'stale', status_of(id, run[1]) or '', run[1] == 'processing' and run[5] or '' }
    counts.stale_refused = counts.stale_refused + 1
  else
    if run[3] and kind ~= 'done' and kind ~= 'dead' and kind ~= 'cancelled' then
      kind = 'cancelled'
      exception = { 'cancelled', 'cancelled', '' }
    end
    local stat = apply[kind](id, detail, body, run)
    counts[stat] = counts[stat] + 1
    settled[#settled + 1] = id
  end
  if exception then
    local n = #exceptions
    exceptions[n + 1], exceptions[n + 2], exceptions[n + 3], exceptions[n + 4] = tostring((i - 7) / 5), unpack(exception)
  end
end

-- Backwards, because each goes to the head: so they keep their order.
for i = #released, 1, -1 do redis.call('LPUSH', unpack(released[i])) end
if #settled > 0 then
  redis.call('ZREM', base .. 'processing', unpack(settled))
  redis.call('HDEL', base .. 'held:' .. worker, unpack(settled))
end
for stat, amount in pairs(counts) do count(stat, amount) end
-- Memory stays bounded between two runs of the pruner.
for status, limit in pairs(keep) do
  if limit > 0 and counts[status] > 0 then prune_excess(status, limit, 2 * counts[status]) end
end
if any_waiting then wake() end
redis.call('HSET', worker_key, 'settle:' .. lane, int(number), 'settled:' .. lane, cjson.encode(exceptions))
return exceptions
