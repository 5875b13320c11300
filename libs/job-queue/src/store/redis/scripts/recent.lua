#!lua flags=no-writes
-- Sums counters over the last minutes.
--
-- ARGV    how many minutes, then the counters' names
-- Returns the sums in the order of the names

local minute = math.floor(now / 60000)
local names, sums = { unpack(ARGV, 2) }, {}
for i = 1, #names do sums[i] = 0 end
for back = 0, tonumber(ARGV[1]) - 1 do
  local values = redis.call('HMGET', base .. 'stats:' .. int(minute - back), unpack(names))
  for i, value in ipairs(values) do sums[i] = sums[i] + (tonumber(value) or 0) end
end
return sums
