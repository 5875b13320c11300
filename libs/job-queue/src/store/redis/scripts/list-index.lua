#!lua flags=no-writes
-- One page of a time-ordered index. Continues after a given (score, id), which may have left the index
-- meanwhile: nothing that stayed is skipped.
--
-- ARGV    index, 'oldest' | 'newest', page size, score and id to continue after ('' for the first page)
-- Returns flat: id, score, … ; fewer than the page size at the end

local index_key, order, limit, after_score, after_id = base .. ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
local newest = order == 'newest'
local from = after_score ~= '' and after_score or (newest and '+inf' or '-inf')
local page, offset = {}, 0

while #page < 2 * limit do
  local command = { index_key, from, newest and '-inf' or '+inf', 'BYSCORE' }
  if newest then table.insert(command, 'REV') end
  for _, word in ipairs({ 'LIMIT', offset, limit, 'WITHSCORES' }) do table.insert(command, word) end
  local chunk = redis.call('ZRANGE', unpack(command))
  for i = 1, #chunk, 2 do
    local id, score = chunk[i], chunk[i + 1]
    local seen = score == after_score and (newest and id >= after_id or not newest and id <= after_id)
    if not seen and #page < 2 * limit then
      table.insert(page, id)
      table.insert(page, score)
    end
  end
  if #chunk < 2 * limit then break end
  offset = offset + limit
end
return page
