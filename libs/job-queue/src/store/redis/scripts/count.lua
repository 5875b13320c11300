#!lua flags=allow-oom
-- Adds to a counter that no transition counts.
--
-- ARGV    counter, amount
-- Returns nothing

count(ARGV[1], tonumber(ARGV[2]))
