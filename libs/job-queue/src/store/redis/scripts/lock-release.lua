#!lua flags=allow-oom
-- Ends a lease and gives the lock to the first waiter that lives. A former owner changes nothing.
--
-- ARGV    owner, fencing token, ms to take up a granted lock, ms to remember the last token
-- Returns 1, or 0 when the lease was not (any more) the caller's

local holder = redis.call('HMGET', KEYS[1], 'owner', 'fencing_token')
if holder[1] ~= ARGV[1] or holder[2] ~= ARGV[2] then return 0 end
redis.call('DEL', KEYS[1])
grant_first_live(nil, 0, tonumber(ARGV[3]), ARGV[4])
return 1
