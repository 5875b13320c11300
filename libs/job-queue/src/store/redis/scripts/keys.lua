-- Put behind the prelude in front of the scripts that end jobs or meet keys: who holds a key, who waits for it, and how it passes on.
--
-- lock:<kind>:<key>, kinds resource and idempotency, is '<token> <job id>' while a job with that key runs, or
-- 'reserved <job id>' while the job that is next waits to be claimed, or for its other key. It has no TTL: it is free when its
-- holder has neither a lease nor a reservation, which everyone who meets it checks. So no chain of waiters
-- can sleep for ever, whatever key was deleted.

local KINDS = { 'resource', 'idempotency' }

-- The job that holds the key or has it reserved, or nil; and whether it is only reserved. A job keeps its
-- reservation while it is queued, or waits for its other key.
local function holder_of(kind, key)
  local value = redis.call('GET', base .. 'lock:' .. kind .. ':' .. key)
  if not value then return nil end
  local mark, id = string.match(value, '^(%S+) (.*)$')
  local run = redis.call('HMGET', base .. 'run:' .. id, 'status', 'fencing_token', 'blocked_on')
  if mark == 'reserved' then
    local is_next = run[1] == 'queued' or run[1] == 'blocked' and run[3] ~= kind .. ':' .. key
    return is_next and id or nil, true
  end
  return run[1] == 'processing' and run[2] == mark and id or nil, false
end

local function is_blocked_on(id, blocked_on)
  local run = redis.call('HMGET', base .. 'run:' .. id, 'status', 'blocked_on', 'priority')
  return run[1] == 'blocked' and run[2] == blocked_on, run[3]
end

-- Set by a claim: jobs that are unblocked while it goes through the queue, which have their turn after the others.
local held_back

local function unblock(id, priority)
  redis.call('ZREM', base .. 'blocked', id)
  redis.call('HSET', base .. 'run:' .. id, 'status', 'queued', 'updated_at', int(now))
  redis.call('HDEL', base .. 'run:' .. id, 'blocked_on')
  if held_back then
    table.insert(held_back, { queued_key(priority), id })
  else
    redis.call('LPUSH', queued_key(priority), id)
  end
  wake()
end

-- Reserves a key for the first that still waits for it, or frees it.
local function hand_on(kind, key)
  local lock_key, waiting_key = base .. 'lock:' .. kind .. ':' .. key, base .. 'waiting:' .. kind .. ':' .. key
  while true do
    local id = redis.call('LPOP', waiting_key)
    if not id then return redis.call('UNLINK', lock_key) end
    local waits, priority = is_blocked_on(id, kind .. ':' .. key)
    if waits then
      redis.call('SET', lock_key, 'reserved ' .. id)
      return unblock(id, priority)
    end
  end
end

-- Passes on what this job holds or has reserved of the given kind.
local function release_key(id, kind, key)
  if not key then return end
  local value = redis.call('GET', base .. 'lock:' .. kind .. ':' .. key)
  -- Without a lock nobody waits, unless it was deleted by hand.
  if not value or string.match(value, '^%S+ (.*)$') == id then hand_on(kind, key) end
end

-- The job goes back to the head of the queue and will run again: nobody shall pass it on its key meanwhile.
local function reserve_key(id, kind, key)
  if not key then return end
  local lock_key = base .. 'lock:' .. kind .. ':' .. key
  local value = redis.call('GET', lock_key)
  if value and string.match(value, '^%S+ (.*)$') == id then redis.call('SET', lock_key, 'reserved ' .. id) end
end

local function block(id, kind, key)
  redis.call('RPUSH', base .. 'waiting:' .. kind .. ':' .. key, id)
  redis.call('ZADD', base .. 'blocked', int(now), id)
  redis.call('HSET', base .. 'run:' .. id, 'status', 'blocked', 'blocked_on', kind .. ':' .. key, 'updated_at', int(now))
  count('blocked', 1)
end

-- Takes all keys for an attempt, or none: then the job is blocked on the busy one and passes the other on. Only a
-- resource that it has reserved it keeps while its operation is not running yet but reserved for somebody else.
-- Did both pass on what they have, then jobs with the same two keys could hand them around for ever.
local function take_keys(id, token, keys)
  for i, kind in ipairs(KINDS) do
    local key = keys[i]
    if key then
      local holder, is_reserved = holder_of(kind, key)
      -- Nobody holds it, but somebody may have waited longer than this job.
      if not holder and redis.call('EXISTS', base .. 'waiting:' .. kind .. ':' .. key) == 1 then
        hand_on(kind, key)
        holder, is_reserved = holder_of(kind, key)
      end
      if holder and holder ~= id then
        block(id, kind, key)
        if kind == 'resource' then
          release_key(id, 'idempotency', keys[2])
        elseif not is_reserved then
          release_key(id, 'resource', keys[1])
        end
        return false
      end
    end
  end
  for i, kind in ipairs(KINDS) do
    if keys[i] then redis.call('SET', base .. 'lock:' .. kind .. ':' .. keys[i], token .. ' ' .. id) end
  end
  return true
end

-- The job that owns a dedup key, or nil: one that has ended owns nothing, unless it is dead and keeps it.
local function dedup_owner(key)
  local dedup = redis.call('HMGET', base .. 'dedup:' .. key, 'job_id', 'window', 'keep_when_dead')
  if not dedup[1] or dedup[2] then return dedup[1] end
  local status = status_of(dedup[1], redis.call('HGET', base .. 'run:' .. dedup[1], 'status'))
  local owns = status and status ~= 'done' and status ~= 'cancelled' and (status ~= 'dead' or dedup[3])
  return owns and dedup[1] or nil
end

-- A dedup key whose owner is gone passes to its follow-up, or is free.
local function hand_on_dedup(key)
  local dedup_key = base .. 'dedup:' .. key
  local follow_up = redis.call('HGET', dedup_key, 'follow_up')
  local waits, priority = false, nil
  if follow_up then waits, priority = is_blocked_on(follow_up, 'dedup:' .. key) end
  if not waits then return redis.call('UNLINK', dedup_key) end
  redis.call('HSET', dedup_key, 'job_id', follow_up)
  redis.call('HDEL', dedup_key, 'follow_up')
  unblock(follow_up, priority)
end

-- An owner that ended gives its dedup key up; a dead one may keep it, unless it is deleted or a follow-up waits.
local function leave_dedup(id, key, status, is_deleted)
  local dedup = redis.call('HMGET', base .. 'dedup:' .. key, 'job_id', 'window', 'keep_when_dead', 'follow_up')
  if dedup[1] ~= id or dedup[2] then return end
  local follows = dedup[4] and is_blocked_on(dedup[4], 'dedup:' .. key)
  if follows or is_deleted or status ~= 'dead' or not dedup[3] then hand_on_dedup(key) end
end

-- A record may expire while jobs wait, and the key be used for another payload since. Theirs it is not then.
local function fingerprint_of(id)
  return redis.call('HGET', base .. 'run:' .. id, 'idempotency_fingerprint')
end

-- Of those that wait for an operation one less is left. The last one out deletes the record if it was never done.
local function leave_idempotency(id, key)
  local record_key = base .. 'idempotency:' .. key
  if redis.call('HGET', record_key, 'fingerprint') ~= fingerprint_of(id) then return end
  local pending = redis.call('HINCRBY', record_key, 'pending', -1)
  if pending <= 0 and redis.call('HGET', record_key, 'state') ~= 'done' then redis.call('UNLINK', record_key) end
end

-- A job ends: whatever it holds or has reserved passes on.
local function leave_keys(id, keys, status, is_deleted)
  for i, kind in ipairs(KINDS) do release_key(id, kind, keys[i]) end
  if keys[2] then leave_idempotency(id, keys[2]) end
  if keys[3] then leave_dedup(id, keys[3], status, is_deleted) end
end

local function keys_of(id)
  return redis.call('HMGET', base .. 'run:' .. id, 'resource_key', 'idempotency_key', 'dedup_key')
end

-- Deletes ended jobs from the oldest on. An index entry whose job has another status by now (its keys were
-- deleted by hand and the id was used again) only loses the entry, never the newer job.
local function prune(status, ids)
  if #ids == 0 then return end
  redis.call('ZREM', base .. status, unpack(ids))
  local deleted = {}
  for _, id in ipairs(ids) do
    local run = redis.call('HMGET', base .. 'run:' .. id, 'status', 'attached')
    if run[1] == status and run[2] then
      local dedup_key = keys_of(id)[3]
      if dedup_key then leave_dedup(id, dedup_key, status, true) end
      forget(id)
    elseif run[1] == status then
      local n = #deleted
      deleted[n + 1], deleted[n + 2], deleted[n + 3] = base .. 'job:' .. id, base .. 'run:' .. id, base .. 'result:' .. id
    end
  end
  if #deleted > 0 then redis.call('UNLINK', unpack(deleted)) end
end

-- Deletes up to `limit` of the oldest jobs of an ended status beyond `keep`. Returns how many.
local function prune_excess(status, keep, limit)
  local excess = math.min(redis.call('ZCARD', base .. status) - keep, limit)
  if excess <= 0 then return 0 end
  prune(status, redis.call('ZRANGE', base .. status, 0, excess - 1))
  return excess
end

-- Whether the entry at that position (from 0) of a queued list is the one that counts. Of several entries of one
-- job the last one of its own priority does, as in claim.lua.
local function is_queued_at(priority, position, id)
  local run = redis.call('HMGET', base .. 'run:' .. id, 'status', 'priority')
  if status_of(id, run[1]) ~= 'queued' then return false end
  if not redis.call('HGET', base .. 'gone', id) then return true end
  local queued = queued_key(priority)
  if queued_key(run[2]) ~= queued then return false end
  local last = redis.call('LPOS', queued, id, 'RANK', -1, 'MAXLEN', 10000)
  return not last or last == position
end
