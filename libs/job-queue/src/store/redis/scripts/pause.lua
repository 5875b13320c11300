#!lua flags=allow-oom
-- Pauses or resumes claiming, for all workers of the queue.
--
-- ARGV    '1' to pause, '0' to resume
-- Returns nothing

if ARGV[1] == '1' then
  redis.call('HSET', KEYS[1], 'paused', int(now))
else
  redis.call('HDEL', KEYS[1], 'paused')
  wake()
end
