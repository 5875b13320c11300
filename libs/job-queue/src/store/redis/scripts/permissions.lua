#!lua flags=no-writes
-- Asks which commands the ACL forbids to the user of this connection.
--
-- ARGV    names of commands
-- Returns those of them that are forbidden

local forbidden = {}
for _, command in ipairs(ARGV) do
  if not redis.acl_check_cmd(command, KEYS[1]) then table.insert(forbidden, command) end
end
return forbidden
