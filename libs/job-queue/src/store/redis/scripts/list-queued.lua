#!lua flags=no-writes
-- One page of the queued jobs in the order in which they will be claimed, without entries that no longer count.
--
-- ARGV    page size, priority and position to start at
-- Returns { next priority or '', next position, then the ids }

local limit, priority, position = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local page, examined = { '', 0 }, 0

-- Bounded, since many entries of cancelled jobs may stand in front: a page may then be short, or empty.
while priority <= 9 and #page - 2 < limit and examined < limit + 1000 do
  local chunk = redis.call('LRANGE', queued_key(priority), position, position + limit - 1)
  for _, id in ipairs(chunk) do
    if #page - 2 == limit then break end
    if is_queued_at(priority, position, id) then table.insert(page, id) end
    position = position + 1
    examined = examined + 1
  end
  if #page - 2 < limit and #chunk < limit then priority, position = priority + 1, 0 end
end
if priority <= 9 then page[1], page[2] = tostring(priority), position end
return page
