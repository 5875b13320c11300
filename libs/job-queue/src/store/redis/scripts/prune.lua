#!lua flags=allow-oom
-- Deletes ended jobs that are more than the queue keeps, or older.
--
-- ARGV    most jobs to delete, then for done, dead, cancelled: how many are kept, for how long in ms
-- Returns how many were deleted

local limit = tonumber(ARGV[1])
local deleted = 0
for i, status in ipairs({ 'done', 'dead', 'cancelled' }) do
  local keep, age_ms = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  deleted = deleted + prune_excess(status, keep, limit - deleted)
  local old = redis.call('ZRANGE', base .. status, '-inf', int(now - age_ms), 'BYSCORE', 'LIMIT', 0, limit - deleted)
  prune(status, old)
  deleted = deleted + #old
end
return deleted
