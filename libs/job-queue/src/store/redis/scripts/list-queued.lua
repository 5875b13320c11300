#!lua flags=no-writes
-- One page of the queued jobs in the order in which they will be claimed, without entries that no longer count.
--
-- ARGV    page size, priority and position to start at
-- Returns { next priority or '', next position, then the ids }

local limit, priority, position = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local page, gone = { '', 0 }, {}

-- Of a job that was removed and enqueued again, the first entries no longer count.
local function is_gone(id)
  gone[id] = (gone[id] or tonumber(redis.call('HGET', base .. 'gone', id)) or 0) - 1
  return gone[id] >= 0
end

while priority <= 9 and #page - 2 < limit do
  local chunk = redis.call('LRANGE', queued_key(priority), position, position + limit - 1)
  for _, id in ipairs(chunk) do
    if #page - 2 == limit then break end
    position = position + 1
    if not is_gone(id) and status_of(id, redis.call('HGET', base .. 'run:' .. id, 'status')) == 'queued' then
      table.insert(page, id)
    end
  end
  if #page - 2 < limit and #chunk < limit then priority, position = priority + 1, 0 end
end
if priority <= 9 then page[1], page[2] = tostring(priority), position end
return page
