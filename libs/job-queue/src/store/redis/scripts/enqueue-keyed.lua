#!lua
-- Stores new jobs of which some have keys. Without allow-oom: refused up front when Redis is full.
--
-- ARGV    per job: id, '1' if the caller chose the id else '0', priority, delay in ms, spec (JSON object),
--         resource key, idempotency key, fingerprint, ms the result is kept,
--         dedup key, job type, what to do with a duplicate, window in ms, '1' if a dead owner keeps the key
--         ('' for what a job does not have)
-- Returns flat, per job: 'stored' | 'duplicate' | 'replaced' | 'follow_up' | 'refused_duplicate' |
--         'refused_dedup_type' | 'refused_idempotency', job id it is about, status of that job or ''

local STRIDE = 14
local reply = {}
local added = { enqueued = 0, duplicates = 0, replaced = 0 }

local function answer(kind, id, stat)
  table.insert(reply, kind)
  table.insert(reply, id or '')
  table.insert(reply, id and status_of(id, redis.call('HGET', base .. 'run:' .. id, 'status')) or '')
  if stat then added[stat] = added[stat] + 1 end
end

local function place(id, job)
  if job.delay > 0 then
    redis.call('ZADD', base .. 'scheduled', int(now + job.delay), id)
  else
    redis.call('RPUSH', queued_key(job.priority), id)
  end
  wake()
end

-- False when the operation of this key has another fingerprint; else counts the job among those that wait for it.
local function enter_idempotency(job)
  if job.idempotency == '' then return true end
  local record_key = base .. 'idempotency:' .. job.idempotency
  redis.call('HSETNX', record_key, 'fingerprint', job.fingerprint)
  if redis.call('HGET', record_key, 'fingerprint') ~= job.fingerprint then return false end
  redis.call('HINCRBY', record_key, 'pending', 1)
  return true
end

local function store(id, job)
  redis.call('SET', base .. 'job:' .. id, stamp('created_at', job.spec))
  if job.caller_chose == '1' then clear_leftovers(id) end
  local fields = {}
  for name, value in pairs({ resource_key = job.resource, idempotency_key = job.idempotency,
    idempotency_fingerprint = job.fingerprint, idempotency_ttl_ms = job.ttl, dedup_key = job.dedup, dedup_type = job.type,
    dedup_keep_when_dead = job.keep_when_dead, priority = job.priority ~= '5' and job.priority or '' }) do
    if value ~= '' then
      table.insert(fields, name)
      table.insert(fields, value)
    end
  end
  local has_keys = job.resource ~= '' or job.idempotency ~= '' or job.dedup ~= ''
  if has_keys then fields[#fields + 1], fields[#fields + 2] = 'attached', '1' end
  if #fields > 0 then redis.call('HSET', base .. 'run:' .. id, unpack(fields)) end
end

-- `payload` is the last member of a spec. Inside of strings its quotes are escaped, so the first match is it.
local function with_payload_of(spec, newer)
  local from, newer_from = string.find(spec or '', '"payload":', 1, true), string.find(newer, '"payload":', 1, true)
  if not from or not newer_from then return stamp('created_at', newer) end
  return string.sub(spec, 1, from - 1) .. string.sub(newer, newer_from)
end

-- The owner gets the new payload and delay and nothing else; it keeps its age and its keys.
local function replace(owner, status, job)
  local spec_key, run_key = base .. 'job:' .. owner, base .. 'run:' .. owner
  local keys = redis.call('HMGET', run_key, 'idempotency_key', 'priority')
  if (keys[1] or '') ~= job.idempotency then return false end
  if keys[1] then
    local record_key = base .. 'idempotency:' .. keys[1]
    local record = redis.call('HMGET', record_key, 'fingerprint', 'pending', 'state')
    if record[1] ~= job.fingerprint and (record[3] or tonumber(record[2] or 1) > 1) then return false end
    redis.call('HSET', record_key, 'fingerprint', job.fingerprint)
    redis.call('HSET', run_key, 'idempotency_fingerprint', job.fingerprint)
  end
  redis.call('SET', spec_key, with_payload_of(redis.call('GET', spec_key), job.spec))
  -- A retrying job keeps its backoff, a blocked one its place, unless a delay is asked for.
  if status == 'scheduled' or (job.delay > 0 and status ~= 'retrying') then
    if status == 'queued' then leave_entry(owner) else redis.call('ZREM', base .. status, owner) end
    for i, kind in ipairs(KINDS) do release_key(owner, kind, keys_of(owner)[i]) end
    if redis.call('HEXISTS', run_key, 'status') == 1 then
      redis.call('HSET', run_key, 'status', job.delay > 0 and 'scheduled' or 'queued', 'updated_at', int(now))
      redis.call('HDEL', run_key, 'blocked_on', 'due_at')
    end
    place(owner, { delay = job.delay, priority = keys[2] })
  end
  return true
end

-- The owner runs: one follow-up waits for it, always with the newest payload.
local function rerun(id, job)
  local dedup_key = base .. 'dedup:' .. job.dedup
  local follow_up = redis.call('HGET', dedup_key, 'follow_up')
  if follow_up and is_blocked_on(follow_up, 'dedup:' .. job.dedup) then
    local newest = { spec = job.spec, idempotency = job.idempotency, fingerprint = job.fingerprint, delay = 0 }
    if replace(follow_up, 'blocked', newest) then
      return answer('replaced', follow_up, 'replaced')
    end
    return answer('refused_idempotency', follow_up)
  end
  if not enter_idempotency(job) then return answer('refused_idempotency') end
  store(id, job)
  redis.call('HSET', dedup_key, 'follow_up', id)
  redis.call('ZADD', base .. 'blocked', int(now), id)
  redis.call('HSET', base .. 'run:' .. id, 'status', 'blocked', 'blocked_on', 'dedup:' .. job.dedup, 'updated_at', int(now))
  answer('follow_up', id, 'enqueued')
end

-- The owner, or the follow-up of one that vanished, which owns the key from now on.
local function live_owner(key)
  local owner = dedup_owner(key)
  if owner or redis.call('EXISTS', base .. 'dedup:' .. key) == 0 then return owner end
  hand_on_dedup(key)
  return dedup_owner(key)
end

local function own_dedup(id, job)
  local dedup_key = base .. 'dedup:' .. job.dedup
  redis.call('HSET', dedup_key, 'job_id', id, 'type', job.type)
  if job.keep_when_dead == '1' then redis.call('HSET', dedup_key, 'keep_when_dead', '1') end
  if job.window ~= '' then
    redis.call('HSET', dedup_key, 'window', job.window)
    redis.call('PEXPIRE', dedup_key, job.window)
  end
end

local function on_duplicate(id, owner, job)
  local dedup_key = base .. 'dedup:' .. job.dedup
  if job.on_duplicate == 'reject' then return answer('refused_duplicate', owner, 'duplicates') end
  if job.on_duplicate == 'return' then return answer('duplicate', owner, 'duplicates') end
  local dedup = redis.call('HMGET', dedup_key, 'type', 'window')
  if dedup[1] ~= job.type then return answer('refused_dedup_type', owner) end
  local status = status_of(owner, redis.call('HGET', base .. 'run:' .. owner, 'status'))
  -- A window ends by time: nothing could wait for its owner's end.
  if status == 'processing' and job.on_duplicate == 'rerun' and not dedup[2] then return rerun(id, job) end
  local replaceable = status == 'scheduled' or status == 'queued' or status == 'blocked' or status == 'retrying'
  if not replaceable then return answer('duplicate', owner, 'duplicates') end
  if replace(owner, status, job) then return answer('replaced', owner, 'replaced') end
  answer('refused_idempotency', owner)
end

for i = 1, #ARGV, STRIDE do
  local id = ARGV[i]
  local job = {
    caller_chose = ARGV[i + 1], priority = ARGV[i + 2], delay = tonumber(ARGV[i + 3]), spec = ARGV[i + 4],
    resource = ARGV[i + 5], idempotency = ARGV[i + 6], fingerprint = ARGV[i + 7], ttl = ARGV[i + 8],
    dedup = ARGV[i + 9], type = ARGV[i + 10], on_duplicate = ARGV[i + 11], window = ARGV[i + 12], keep_when_dead = ARGV[i + 13],
  }
  local owner = job.dedup ~= '' and live_owner(job.dedup)
  if redis.call('EXISTS', base .. 'job:' .. id) == 1 then
    answer('duplicate', id, 'duplicates')
  elseif owner then
    on_duplicate(id, owner, job)
  elseif not enter_idempotency(job) then
    answer('refused_idempotency')
  else
    store(id, job)
    place(id, job)
    if job.dedup ~= '' then own_dedup(id, job) end
    answer('stored', id, 'enqueued')
  end
end
for stat, amount in pairs(added) do count(stat, amount) end
return reply
