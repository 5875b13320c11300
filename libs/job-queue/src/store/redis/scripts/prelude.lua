-- Put in front of every script by script-runner.ts: the clock, the keys, and the few steps that several
-- transitions share. A transition itself is never here; each has its own file.
--
-- KEYS[1] is '<base>meta' of a queue, or '<base>holder' of a lock. KEYS[2] is always '<base>absent', which
-- never exists: with two declared keys Redis answers TRYAGAIN before the first write while the slot is being
-- moved. With one it would run half a script. All other keys are built from the base, so they share its slot.

local base = string.sub(KEYS[2], 1, -7)
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local now = math.floor(now_us / 1000)

-- tostring() and '..' write large numbers as 1.7e+15; this writes every digit of a whole number below 2^53.
-- ('%.0f' does the same and costs a job 8 % more Redis CPU.)
local function int(number)
  return string.format('%d', number)
end

local function queued_key(priority)
  return base .. 'queued:' .. (priority or '5')
end

local function queued_keys()
  local keys = {}
  for priority = 0, 9 do keys[priority + 1] = queued_key(priority) end
  return keys
end

-- JSON text with `"<field>":<now>` put in front; the rest stays as the caller wrote it.
local function stamp(field, json)
  return '{"' .. field .. '":' .. int(now) .. ',' .. string.sub(json, 2)
end

-- Lets one idle worker look for work. One standing token is enough: who takes it passes it on while work is left.
local function wake()
  if redis.call('LLEN', base .. 'wake') == 0 then redis.call('RPUSH', base .. 'wake', '1') end
end

-- Adds to a lifetime counter and to this minute's, which expires after two hours.
local function count(stat, amount)
  if amount == 0 then return end
  redis.call('HINCRBY', base .. 'stats', stat, amount)
  local minute = base .. 'stats:' .. int(math.floor(now / 60000))
  if redis.call('HINCRBY', minute, stat, amount) == amount then redis.call('EXPIRE', minute, 7260) end
end

-- The job's status given its run's, or false when there is no such job. A job without a run was never claimed.
local function status_of(id, run_status)
  if run_status then return run_status end
  if redis.call('EXISTS', base .. 'job:' .. id) == 0 then return false end
  return redis.call('ZSCORE', base .. 'scheduled', id) and 'scheduled' or 'queued'
end

-- Deletes everything stored of a job. Its place in an index is the caller's to clear.
local function forget(id)
  redis.call('UNLINK', base .. 'job:' .. id, base .. 'run:' .. id, base .. 'result:' .. id,
    base .. 'error:' .. id, base .. 'checkpoint:' .. id)
end

-- What a claim of a worker took, from its record in held:<worker>: '<first token>', then the ids, by line. The
-- tokens of one claim are consecutive. Calls `visit` with each id and token.
local function each_held(record, visit)
  local token
  for line in string.gmatch(record, '[^\n]+') do
    if token then
      visit(line, int(token))
      token = token + 1
    else
      token = tonumber(line)
    end
  end
end

-- An id that was used before may have left something behind if its spec was deleted by hand.
local function clear_leftovers(id)
  local left = redis.call('UNLINK', base .. 'run:' .. id, base .. 'result:' .. id, base .. 'error:' .. id,
    base .. 'checkpoint:' .. id)
  if left == 0 then return end
  for _, index in ipairs({ 'scheduled', 'retry', 'blocked', 'processing', 'done', 'dead', 'cancelled' }) do
    redis.call('ZREM', base .. index, id)
  end
end

-- An entry in a queued list that no longer counts. It stays (removing it would scan the list), depth
-- subtracts it, and the claim that meets it drops it.
local function leave_entry(id)
  redis.call('HINCRBY', base .. 'gone', id, 1)
  redis.call('HINCRBY', base .. 'gone', '{total}', 1)
end

-- Ends a job that is in no other index: marks it, indexes it for retention, or deletes it when none are kept.
local function finish(id, status, keep)
  if keep == 0 then return forget(id) end
  redis.call('HSET', base .. 'run:' .. id, 'status', status, 'updated_at', int(now))
  redis.call('ZADD', base .. status, int(now), id)
end

-- Moves due jobs of one index to the tail of their lists. Returns the due time of the first one left, or
-- nil, and how many it moved.
local function promote_due(index, limit)
  local index_key = base .. index
  local promoted = 0
  local first = redis.call('ZRANGE', index_key, 0, 0, 'WITHSCORES')
  if first[1] and tonumber(first[2]) <= now then
    local due = redis.call('ZRANGE', index_key, '-inf', int(now), 'BYSCORE', 'LIMIT', 0, limit)
    redis.call('ZREM', index_key, unpack(due))
    for _, id in ipairs(due) do
      local run_key = base .. 'run:' .. id
      local run = redis.call('HMGET', run_key, 'status', 'priority')
      if run[1] then
        redis.call('HSET', run_key, 'status', 'queued', 'updated_at', int(now))
        redis.call('HDEL', run_key, 'due_at')
      elseif index == 'retry' then
        -- Its run is gone, but not its error.
        redis.call('HSET', run_key, 'attached', '1')
      end
      redis.call('RPUSH', queued_key(run[2]), id)
    end
    promoted = #due
    first = redis.call('ZRANGE', index_key, 0, 0, 'WITHSCORES')
  end
  return tonumber(first[2]), promoted
end
