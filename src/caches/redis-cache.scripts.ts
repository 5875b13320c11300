/**
 * The atomic steps on cached copies, as Lua scripts. A copy is one hash: `version`, `begun_at`, and its pages.
 * Times are Redis's own, because the clocks of workers differ.
 */

/**
 * Begins a copy.
 * KEYS: building. ARGV: version, expiry in ms.
 */
export const BEGIN = `
local building = KEYS[1]
local version, expiry = ARGV[1], ARGV[2]
local seconds, micros = unpack(redis.call('TIME'))
redis.call('HSET', building, 'version', version, 'begun_at', seconds * 1000 + math.floor(micros / 1000))
redis.call('PEXPIRE', building, expiry)
`;

/**
 * Adds a page, unless the copy expired: writing to it then would bring back a part of it, for ever.
 * KEYS: building. ARGV: page's field, page, expiry in ms.
 */
export const ADD_PAGE = `
local building = KEYS[1]
local field, page, expiry = ARGV[1], ARGV[2], ARGV[3]
if redis.call('EXISTS', building) == 0 then return end
redis.call('HSET', building, field, page)
redis.call('PEXPIRE', building, expiry)
`;

/**
 * Compares the versions and renames in one step: between two, an older run could slip past a newer one.
 * KEYS: live, building. ARGV: version, number of pages, expiry in ms.
 * Returns 'swapped' (a repeated call, too, which finds its own version), 'superseded' or 'incomplete'.
 */
export const SWAP_IN = `
local live, building = KEYS[1], KEYS[2]
local version, pages, expiry = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local current = tonumber(redis.call('HGET', live, 'version') or 0)
if current == version then return 'swapped' end
if current > version then
  redis.call('DEL', building)
  return 'superseded'
end
local fields_besides_pages = 2
if redis.call('HLEN', building) ~= pages + fields_besides_pages then return 'incomplete' end
redis.call('PEXPIRE', building, expiry)
redis.call('RENAME', building, live)
return 'swapped'
`;
