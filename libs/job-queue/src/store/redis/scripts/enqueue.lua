#!lua
-- Stores new jobs that have no keys, all or none. Without allow-oom: when Redis is full this is refused before the first write.
--
-- ARGV    groups of jobs with the same placement, each: '<1 if the caller chose the ids, else 0> <priority>
--         <delay in ms>', how many jobs, then per job: id, spec (JSON object without its first brace)
-- Returns the duplicates only, flat: { index from 0, status of the job that is there, … }

local duplicates = {}
local added, any_ready = 0, false
local earliest_due
local spec_head = '{"created_at":' .. int(now) .. ','

-- Writes the specs that are not there yet. Returns the ids of these jobs.
local function write_specs(ids, specs, caller_chose, first_index)
  -- Nearly always none is there. One call then writes all: a fifth less of Redis's time per job.
  if not caller_chose and redis.call('MSETNX', unpack(specs)) == 1 then return ids end
  local written = {}
  for i, id in ipairs(ids) do
    if redis.call('SETNX', specs[2 * i - 1], specs[2 * i]) == 1 then
      if caller_chose then clear_leftovers(id) end
      table.insert(written, id)
    else
      table.insert(duplicates, first_index + i - 1)
      table.insert(duplicates, id)
    end
  end
  return written
end

local function place(ids, priority, delay)
  if priority ~= '5' then
    for _, id in ipairs(ids) do redis.call('HSET', base .. 'run:' .. id, 'priority', priority) end
  end
  if delay == 0 then
    redis.call('RPUSH', queued_key(priority), unpack(ids))
    any_ready = true
    return
  end
  local due, entries = now + delay, {}
  for _, id in ipairs(ids) do
    local n = #entries
    entries[n + 1], entries[n + 2] = int(due), id
  end
  redis.call('ZADD', base .. 'scheduled', unpack(entries))
  if not earliest_due or due < earliest_due then earliest_due = due end
end

local i, index = 1, 0
while ARGV[i] do
  local caller_chose, priority, delay = string.match(ARGV[i], '^(%d) (%d) (%d+)$')
  local jobs = tonumber(ARGV[i + 1])
  local ids, specs = {}, {}
  for n = 1, jobs do
    local id = ARGV[i + 2 * n]
    ids[n], specs[2 * n - 1], specs[2 * n] = id, base .. 'job:' .. id, spec_head .. ARGV[i + 2 * n + 1]
  end
  local written = write_specs(ids, specs, caller_chose == '1', index)
  if #written > 0 then place(written, priority, tonumber(delay)) end
  added = added + #written
  i, index = i + 2 + 2 * jobs, index + jobs
end

-- Only now: a duplicate may be of a job of this very call, which has its place by now.
for n = 2, #duplicates, 2 do
  duplicates[n] = status_of(duplicates[n], redis.call('HGET', base .. 'run:' .. duplicates[n], 'status'))
end
count('enqueued', added)
count('duplicates', #duplicates / 2)

-- Idle workers sleep until the earliest due time they know of; an earlier one must wake one of them.
local first_due = earliest_due and redis.call('ZRANGE', base .. 'scheduled', 0, 0, 'WITHSCORES')[2]
if any_ready or (first_due and tonumber(first_due) >= earliest_due) then wake() end
return duplicates
