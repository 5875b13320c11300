#!lua flags=allow-oom
-- Moves due scheduled and retrying jobs to the tail of the queue. Claiming does the same; this is for when
-- nobody claims.
--
-- ARGV    most jobs to move per index
-- Returns { jobs moved, '1' if due jobs are left else '0' }

local limit = tonumber(ARGV[1])
local next_scheduled, scheduled = promote_due('scheduled', limit)
local next_retry, retrying = promote_due('retry', limit)
if scheduled + retrying > 0 then wake() end
local left = (next_scheduled and next_scheduled <= now) or (next_retry and next_retry <= now)
return { scheduled + retrying, left and '1' or '0' }
