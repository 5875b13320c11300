#!lua flags=no-writes
-- One page of the queued jobs in the order in which they will be claimed, without entries that no longer count.
--
-- ARGV    page size, priority and position to start at
-- Returns { next priority or '', next position, then the ids }

local limit, priority, position = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local page, examined = { '', 0 }, 0

-- Of several entries of one job the last one of its own priority counts, as in claim.lua.
local function is_gone(id)
  if not redis.call('HGET', base .. 'gone', id) then return false end
  local queued = queued_key(priority)
  if queued_key(redis.call('HGET', base .. 'run:' .. id, 'priority')) ~= queued then return true end
  local last = redis.call('LPOS', queued, id, 'RANK', -1, 'MAXLEN', 10000)
  return last and last ~= position - 1
end

-- Bounded, since many entries of cancelled jobs may stand in front: a page may then be short, or empty.
while priority <= 9 and #page - 2 < limit and examined < limit + 1000 do
  local chunk = redis.call('LRANGE', queued_key(priority), position, position + limit - 1)
  for _, id in ipairs(chunk) do
    if #page - 2 == limit then break end
    position = position + 1
    examined = examined + 1
    if status_of(id, redis.call('HGET', base .. 'run:' .. id, 'status')) == 'queued' and not is_gone(id) then
      table.insert(page, id)
    end
  end
  if #page - 2 < limit and #chunk < limit then priority, position = priority + 1, 0 end
end
if priority <= 9 then page[1], page[2] = tostring(priority), position end
return page
