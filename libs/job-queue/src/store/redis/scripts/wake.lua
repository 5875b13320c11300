#!lua flags=allow-oom
-- Hands a wake-up on to another idle worker.
--
-- ARGV    none
-- Returns nothing

wake()
