#!lua flags=allow-oom
-- Ends attempts. An outcome is accepted if and only if its token is the current one of a processing job.
--
-- ARGV    worker id, lane, number of the call, how many done, dead and cancelled jobs are kept,
--         claims ('<lane>:<number>', by spaces) of which this worker holds no job any more,
--         then per settlement: job id, fencing token, outcome. An outcome is '' (done without a result) or
--         '<kind> <detail> <body>':
--           done       detail -, body result (JSON)
--           retry      detail delay in ms, body error (JSON object)
--           dead       detail reason, body error
--           snooze     detail delay in ms, body error
--           release, cancelled: detail -, no body
-- Returns the exceptions only, flat: { index from 0, 'cancelled' | 'stale', job status or '', holder or '', … }
--         A number that was used already returns what it returned then.
-- Error   SUPERSEDED when a later number was used.

local worker, lane, number = ARGV[1], ARGV[2], tonumber(ARGV[3])
local keep = { done = tonumber(ARGV[4]), dead = tonumber(ARGV[5]), cancelled = tonumber(ARGV[6]) }
local worker_key, held_key = base .. 'worker:' .. worker, base .. 'held:' .. worker

local last = redis.call('HMGET', worker_key, 'settle:' .. lane, 'settled:' .. lane, 'claim:' .. lane)
local last_settle, last_claim = tonumber(last[1]) or 0, tonumber(last[3]) or 0
if number < last_settle or number < last_claim then
  return redis.error_reply('SUPERSEDED by call ' .. int(math.max(last_settle, last_claim)))
end
if number == last_settle then return cjson.decode(last[2]) end

local counts = { done = 0, retried = 0, dead = 0, cancelled = 0, released = 0, snoozed = 0, stale_refused = 0 }
local any_waiting = false
local released = {}
-- Keys to delete and ended jobs to index, each in one call for all: that costs a job half as much.
local deleted, is_deleted, ended = {}, {}, { done = {}, dead = {}, cancelled = {} }

-- Back to a waiting index until `due`.
local function wait_in(index, status, id, due, body)
  redis.call('HSET', base .. 'run:' .. id, 'status', status, 'due_at', int(due), 'updated_at', int(now), 'attached', '1')
  redis.call('ZADD', base .. index, int(due), id)
  redis.call('SET', base .. 'error:' .. id, stamp('at', body))
  any_waiting = true
end

local function end_job(id, status, attached)
  if attached then leave_keys(id, keys_of(id), status, keep[status] == 0) end
  if keep[status] > 0 then
    local n = #ended[status]
    ended[status][n + 1], ended[status][n + 2] = int(now), id
    redis.call('HSET', base .. 'run:' .. id, 'status', status, 'updated_at', int(now))
  elseif attached then
    forget(id)
  else
    local n = #deleted
    deleted[n + 1], deleted[n + 2], is_deleted[id] = base .. 'job:' .. id, base .. 'run:' .. id, true
  end
end

local function free_keys(id)
  local keys = keys_of(id)
  for i, kind in ipairs(KINDS) do release_key(id, kind, keys[i]) end
end

local function complete_operation(id, token, result)
  local run = redis.call('HMGET', base .. 'run:' .. id, 'idempotency_key', 'idempotency_fingerprint', 'idempotency_ttl_ms')
  if not run[1] then return end
  local record_key = base .. 'idempotency:' .. run[1]
  -- An earlier result may have expired since this job was enqueued, and the fingerprint with it.
  redis.call('HSETNX', record_key, 'fingerprint', run[2])
  if redis.call('HGET', record_key, 'fingerprint') ~= run[2] then return end
  redis.call('HSET', record_key, 'state', 'done', 'job_id', id, 'fencing_token', token, 'result', result)
  redis.call('PEXPIRE', record_key, run[3])
end

local apply = {
  done = function(id, token, attached, _, result)
    if attached then complete_operation(id, token, result) end
    end_job(id, 'done', attached)
    if result ~= '' and keep.done > 0 then redis.call('SET', base .. 'result:' .. id, result) end
    return 'done'
  end,
  retry = function(id, _, attached, delay, body)
    if attached then free_keys(id) end
    wait_in('retry', 'retrying', id, now + tonumber(delay), body)
    redis.call('HDEL', base .. 'run:' .. id, 'first_refused_at')
    return 'retried'
  end,
  dead = function(id, _, attached, reason, body)
    end_job(id, 'dead', attached)
    if keep.dead > 0 then
      redis.call('HSET', base .. 'run:' .. id, 'dead_reason', reason, 'attached', '1')
      redis.call('SET', base .. 'error:' .. id, stamp('at', body))
    end
    return 'dead'
  end,
  cancelled = function(id, _, attached)
    end_job(id, 'cancelled', attached)
    return 'cancelled'
  end,
  release = function(id, _, attached)
    if attached then
      local keys = keys_of(id)
      for i, kind in ipairs(KINDS) do reserve_key(id, kind, keys[i]) end
    end
    redis.call('HINCRBY', base .. 'run:' .. id, 'attempt', -1)
    redis.call('HSET', base .. 'run:' .. id, 'status', 'queued', 'updated_at', int(now))
    table.insert(released, { queued_key(redis.call('HGET', base .. 'run:' .. id, 'priority')), id })
    any_waiting = true
    return 'released'
  end,
  snooze = function(id, _, attached, delay, body)
    if attached then free_keys(id) end
    wait_in('scheduled', 'scheduled', id, now + tonumber(delay), body)
    redis.call('HINCRBY', base .. 'run:' .. id, 'attempt', -1)
    redis.call('HSETNX', base .. 'run:' .. id, 'first_refused_at', int(now))
    return 'snoozed'
  end,
}

local settled, exceptions = {}, {}
local function except(i, kind, status, holder)
  local n = #exceptions
  exceptions[n + 1], exceptions[n + 2], exceptions[n + 3], exceptions[n + 4] = int(i), kind, status, holder
end

for i = 8, #ARGV, 3 do
  local id, token, outcome = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local run_key = base .. 'run:' .. id
  local run = redis.call('HMGET', run_key, 'status', 'fencing_token', 'attached')
  if run[1] ~= 'processing' or run[2] ~= token or is_deleted[id] then
    local holder = run[1] == 'processing' and redis.call('HGET', run_key, 'worker_id') or ''
    except((i - 8) / 3, 'stale', not is_deleted[id] and status_of(id, run[1]) or '', is_deleted[id] and '' or holder)
    counts.stale_refused = counts.stale_refused + 1
  else
    local kind, detail, body = 'done', '', ''
    if outcome ~= '' then kind, detail, body = string.match(outcome, '^(%a+) (%S+) (.*)$') end
    local finishes = kind == 'done' or kind == 'dead' or kind == 'cancelled'
    if run[3] and not finishes and redis.call('HEXISTS', run_key, 'cancel_requested_at') == 1 then
      kind = 'cancelled'
      except((i - 8) / 3, 'cancelled', 'cancelled', '')
    end
    local stat = apply[kind](id, token, run[3], detail, body)
    counts[stat] = counts[stat] + 1
    settled[#settled + 1] = id
  end
end

-- Backwards, because each goes to the head: so they keep their order.
for i = #released, 1, -1 do redis.call('LPUSH', unpack(released[i])) end
if #settled > 0 then redis.call('ZREM', base .. 'processing', unpack(settled)) end
if #deleted > 0 then redis.call('UNLINK', unpack(deleted)) end
for claim in string.gmatch(ARGV[7], '%S+') do redis.call('HDEL', held_key, claim) end
for stat, amount in pairs(counts) do count(stat, amount) end
for status, entries in pairs(ended) do
  if #entries > 0 then
    redis.call('ZADD', base .. status, unpack(entries))
    -- Memory stays bounded between two runs of the pruner.
    prune_excess(status, keep[status], #entries)
  end
end
if any_waiting then wake() end
redis.call('HSET', worker_key, 'settle:' .. lane, int(number), 'settled:' .. lane, cjson.encode(exceptions))
return exceptions
