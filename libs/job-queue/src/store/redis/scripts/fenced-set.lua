#!lua
-- Writes a value, unless it has seen a higher fencing token, or the same one from another owner.
--
-- ARGV    value, fencing token, owner
-- Returns '' when it was written, else the token that stands in the way

local current = redis.call('HMGET', KEYS[1], 'fencing_token', 'owner')
local fence, token = tonumber(current[1]) or 0, tonumber(ARGV[2])
if fence > token or fence == token and current[2] ~= ARGV[3] then return current[1] end
redis.call('HSET', KEYS[1], 'value', ARGV[1], 'fencing_token', ARGV[2], 'owner', ARGV[3])
return ''
