#!lua flags=allow-oom
-- Takes ready jobs and gets a lease with a new fencing token on each. Promotes what is due first.
--
-- A job whose key is busy is blocked instead; one whose operation was done already ends with that result.
--
-- ARGV    worker id, lane, number of the call, most jobs to claim, lease in ms, how many done jobs are kept
-- Returns { now, '1' if ready jobs are left else '0', ms until the next due job or -1,
--           { ids of blocked jobs }, { ids of replayed jobs },
--           then per job: id, fencing token, attempt (and first_refused_at behind a space, if any), spec or '' }
--         The tokens of one claim are consecutive.
-- Errors  REPEATED when the number was used already: claim-again.lua answers what was claimed then.
--         SUPERSEDED when a later number was used.

local worker, lane, number, max = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local lease_ms, keep_done = tonumber(ARGV[5]), tonumber(ARGV[6])
local worker_key = base .. 'worker:' .. worker
local deadline = int(now + lease_ms)
local blocked, replayed = {}, {}
local reply = { int(now), '0', -1, blocked, replayed }

local last = redis.call('HMGET', worker_key, 'claim:' .. lane, 'settle:' .. lane)
local last_claim, last_settle = tonumber(last[1]) or 0, tonumber(last[2]) or 0
if number < last_claim or number < last_settle then
  return redis.error_reply('SUPERSEDED by call ' .. int(math.max(last_claim, last_settle)))
end
if number == last_claim then return redis.error_reply('REPEATED call ' .. int(number)) end
redis.call('HSET', worker_key, 'claim:' .. lane, int(number))
if redis.call('HEXISTS', KEYS[1], 'paused') == 1 then return reply end

local batch = math.max(max, 100)
local next_scheduled, next_retry = promote_due('scheduled', batch), promote_due('retry', batch)
local next_due = next_scheduled and next_retry and math.min(next_scheduled, next_retry) or next_scheduled or next_retry
local gone_key = base .. 'gone'
local any_gone = redis.call('EXISTS', gone_key) == 1
local fence = math.max(tonumber(redis.call('GET', base .. 'fence')) or 0, now_us - 1)
local LONG_MEMBER = string.rep('{', 65)
local leases, taken, started, examined = {}, {}, {}, 0
local queued = queued_keys()
local pop = { 'LMPOP', 10, unpack(queued) }
pop[13], pop[14] = 'LEFT', 'COUNT'

-- Whether entry i of `ids` is the one that counts. A job without a run is queued, unless it was removed and
-- enqueued again with a delay. One that was enqueued again at once has its own entry further behind, and
-- keeps that place; but an entry is passed over only if that other one is seen, so that no job is ever lost.
local function counts_as_queued(ids, i, run_status, spec)
  local id = ids[i]
  if run_status and run_status ~= 'queued' or not run_status and not spec then return false end
  if not any_gone or not redis.call('HGET', gone_key, id) then return true end
  if not run_status and redis.call('ZSCORE', base .. 'scheduled', id) then return false end
  for behind = i + 1, #ids do
    if ids[behind] == id then return false end
  end
  return not redis.call('LPOS', queued_key(redis.call('HGET', base .. 'run:' .. id, 'priority')), id, 'MAXLEN', 10000)
end

local function drop_entry(id)
  if not redis.call('HGET', gone_key, id) then return end
  if redis.call('HINCRBY', gone_key, id, -1) <= 0 then redis.call('HDEL', gone_key, id) end
  if redis.call('HINCRBY', gone_key, '{total}', -1) <= 0 then redis.call('UNLINK', gone_key) end
end

-- A token is minted for a job that starts, and for no other, so that those of one claim are consecutive.
local function start(id, run_key, spec, attempt, first_refused_at)
  fence = fence + 1
  local token = int(fence)
  redis.call('HSET', run_key, 'status', 'processing', 'attempt', attempt, 'fencing_token', token,
    'worker_id', worker, 'started_at', reply[1])
  local n, m = #taken, #reply
  taken[n + 1], started[id] = id, true
  leases[2 * n + 1], leases[2 * n + 2] = deadline, id
  reply[m + 1], reply[m + 2], reply[m + 4] = id, token, spec or ''
  reply[m + 3] = first_refused_at and attempt .. ' ' .. first_refused_at or attempt
end

-- What a job with keys may do now: run, wait, or end with the result of its operation. True: run.
local function may_start(id)
  local keys = keys_of(id)
  local record = keys[2] and redis.call('HMGET', base .. 'idempotency:' .. keys[2], 'state', 'result', 'fingerprint') or {}
  if record[1] == 'done' and record[3] == fingerprint_of(id) then
    leave_keys(id, keys, 'done')
    -- Whoever meets a lock that nobody holds clears it; a replayed job would else walk past it.
    for i, kind in ipairs(KINDS) do
      if keys[i] and not holder_of(kind, keys[i]) then hand_on(kind, keys[i]) end
    end
    finish(id, 'done', keep_done)
    if record[2] and keep_done > 0 then redis.call('SET', base .. 'result:' .. id, record[2]) end
    table.insert(replayed, id)
    return false
  end
  if take_keys(id, int(fence + 1), keys) then return true end
  table.insert(blocked, id)
  return false
end

-- An entry whose job has a run: it was claimed before, or it has keys or a priority of its own.
local function meet(ids, i, run_key, spec)
  local id = ids[i]
  local run = redis.call('HMGET', run_key, 'status', 'attempt', 'first_refused_at', 'attached')
  if not counts_as_queued(ids, i, run[1], spec) then
    drop_entry(id)
  elseif not run[4] or may_start(id) then
    start(id, run_key, spec, int((tonumber(run[2]) or 0) + 1), run[3])
  end
end

-- Puts those that were held back at the head, the one that was unblocked first in front. False if there are none.
local function let_in()
  local jobs = held_back
  held_back = {}
  for i = #jobs, 1, -1 do redis.call('LPUSH', unpack(jobs[i])) end
  return #jobs > 0
end

held_back = {}
while #taken < max and examined < max + 1000 do
  pop[15] = max - #taken
  local popped = redis.call(unpack(pop))
  if not popped and let_in() then popped = redis.call(unpack(pop)) end
  if not popped then break end
  local ids, spec_keys, run_keys = popped[2], {}, {}
  for i, id in ipairs(ids) do spec_keys[i], run_keys[i] = base .. 'job:' .. id, base .. 'run:' .. id end
  local specs = redis.call('MGET', unpack(spec_keys))
  -- Nearly always none has a run: one call instead of one for each (saves a job 0.8 µs of Redis's time).
  local all_new = not any_gone and redis.call('EXISTS', unpack(run_keys)) == 0
  for i, id in ipairs(ids) do
    if all_new and specs[i] and not started[id] then
      start(id, run_keys[i], specs[i], '1')
    else
      meet(ids, i, run_keys[i], specs[i])
    end
  end
  examined = examined + #ids
end

let_in()
count('done', #replayed)
count('replayed', #replayed)
local more = redis.call('EXISTS', unpack(queued)) > 0
if #taken > 0 then
  local first_token = int(fence - #taken + 1)
  redis.call('SET', base .. 'fence', int(fence))
  -- Sorted into up to 128 entries that Redis keeps as one flat text, a lease costs 2.4 µs instead of 0.5. A long
  -- member, there for no one to see, makes it a proper index until it is empty again.
  if #taken >= 8 then
    redis.call('ZADD', base .. 'processing', 0, LONG_MEMBER, unpack(leases))
    redis.call('ZREM', base .. 'processing', LONG_MEMBER)
  else
    redis.call('ZADD', base .. 'processing', unpack(leases))
  end
  redis.call('HSET', base .. 'held:' .. worker, lane .. ':' .. int(number), first_token .. '\n' .. table.concat(taken, '\n'))
end
-- This worker may be full now. Another idle one must take what is left, and keep the next due time.
if #taken == max and (more or next_due) then wake() end
if more then reply[2] = '1' end
if next_due then reply[3] = math.max(0, next_due - now) end
return reply
