#!lua flags=allow-oom
-- Records over how many partitions a queue is spread, unless somebody else has recorded another number meanwhile.
--
-- ARGV    number that was found, number to record. 1 is the absence of a record
-- Returns the number that is recorded now

local recorded = redis.call('HGET', KEYS[1], 'partitions') or '1'
if recorded ~= ARGV[1] then return tonumber(recorded) end
if ARGV[2] == '1' then
  redis.call('HDEL', KEYS[1], 'partitions')
else
  redis.call('HSET', KEYS[1], 'partitions', ARGV[2])
end
return tonumber(ARGV[2])
