#!lua flags=allow-oom
-- A waiter gives up: it leaves the line, and a lock that it was given in the same instant goes to the next.
--
-- ARGV    owner, ms to take up a granted lock, ms to remember the last token
-- Returns 1 when it had been given the lock, else 0

leave_line(ARGV[1])
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
grant_first_live(nil, 0, tonumber(ARGV[2]), ARGV[3])
return 1
