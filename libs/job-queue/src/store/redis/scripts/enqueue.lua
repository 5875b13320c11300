#!lua
-- Stores new jobs that have no keys, all or none. Without allow-oom: when Redis is full this is refused before the first write.
--
-- ARGV    per job: id, placement, spec (JSON object without its first brace)
--         A placement is '<1 if the caller chose the id, else 0> <priority> <delay in ms>', nearly always '0 5 0':
--         one string for many jobs, which Lua makes once.
-- Returns the duplicates only, flat: { index from 0, status of the job that is there, … }

local ready = {}
local duplicates = {}
local any_ready = false
local added = 0
local earliest_due

local spec_head = '{"created_at":' .. int(now) .. ','
local job_prefix = base .. 'job:'

for i = 1, #ARGV, 3 do
  local id, placement = ARGV[i], ARGV[i + 1]
  local caller_chose, priority, delay = '0', '5', 0
  if placement ~= '0 5 0' then
    caller_chose, priority, delay = string.match(placement, '^(%d) (%d) (%d+)$')
    delay = tonumber(delay)
  end
  if not redis.call('SET', job_prefix .. id, spec_head .. ARGV[i + 2], 'NX') then
    table.insert(duplicates, (i - 1) / 3)
    table.insert(duplicates, status_of(id, redis.call('HGET', base .. 'run:' .. id, 'status')))
  else
    added = added + 1
    if caller_chose == '1' then clear_leftovers(id) end
    if priority ~= '5' then redis.call('HSET', base .. 'run:' .. id, 'priority', priority) end
    if delay > 0 then
      local due = now + delay
      if not earliest_due or due < earliest_due then earliest_due = due end
      redis.call('ZADD', base .. 'scheduled', int(due), id)
    else
      local ids = ready[priority] or {}
      ready[priority] = ids
      ids[#ids + 1] = id
      any_ready = true
    end
  end
end

for priority, ids in pairs(ready) do redis.call('RPUSH', queued_key(priority), unpack(ids)) end
count('enqueued', added)
count('duplicates', #duplicates / 2)

-- Idle workers sleep until the earliest due time they know of; an earlier one must wake one of them.
local first_due = earliest_due and redis.call('ZRANGE', base .. 'scheduled', 0, 0, 'WITHSCORES')[2]
if any_ready or (first_due and tonumber(first_due) >= earliest_due) then wake() end
return duplicates
