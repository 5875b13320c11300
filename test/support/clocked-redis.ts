/**
 * A Redis server that belongs to one test and lives by the test's clock: time stands still until `pass`, then
 * everything that has run out is gone. The scripts are the product's own, word for word, with a few lines in front
 * that answer TIME, and turn a time to live into a time of day, by that clock.
 */
import { Redis, type RedisOptions } from 'ioredis';
import { INTERNAL } from '#lib/options/defaults.js';
import { RedisConnection } from '#lib/store/redis/connection.js';
import { createHash } from 'node:crypto';
import { startServer, type StartedServer } from '#scripts/find-redis.mjs';
import { openRedis } from './redis.js';

const CLOCK_KEY = 'clock';

/** Far ahead of the real time, so that the server itself never finds anything to have run out. */
export const START_OF_TIME = Date.UTC(2100, 0, 1);

const BY_OUR_CLOCK = `
local server = redis
local clock = tonumber(server.call('GET', '${CLOCK_KEY}'))
local redis = setmetatable({}, { __index = server })
local function at(ms) return string.format('%d', clock + ms) end
local instead = {
  TIME = function() return { math.floor(clock / 1000), clock % 1000 * 1000 } end,
  EXPIRE = function(key, seconds) return server.call('PEXPIREAT', key, at(seconds * 1000)) end,
  PEXPIRE = function(key, ms)
    if tonumber(ms) <= 0 then return server.call('DEL', key) end
    return server.call('PEXPIREAT', key, at(ms))
  end,
  PTTL = function(key)
    local expires = server.call('PEXPIRETIME', key)
    return expires < 0 and expires or expires - clock
  end,
  SET = function(key, value, ...)
    local option, ms = ...
    if option ~= 'PX' then return server.call('SET', key, value, ...) end
    return server.call('SET', key, value, 'PXAT', at(ms))
  end,
}
function redis.call(command, ...)
  return (instead[command] or function(...) return server.call(command, ...) end)(...)
end
`;

/** Moves the clock and deletes what has run out by it: a key is gone in the ms its time to live has passed. */
const PASS = `
redis.call('SET', '${CLOCK_KEY}', ARGV[1])
for _, key in ipairs(redis.call('KEYS', '*')) do
  local expires = redis.call('PEXPIRETIME', key)
  if expires > 0 and expires <= tonumber(ARGV[1]) then redis.call('DEL', key) end
end`;

/** Of the scripts that were sent in full, by the hash under which they are asked for: what the server knows them as. */
const known = new Map<string, string>();

const hashOf = (script: string): string => createHash('sha1').update(script).digest('hex');

/** The first line of a script is for the server: it must stay the first. */
function byOurClock(script: string): string {
  const headEnd = script.indexOf('\n') + 1;
  const clocked = script.slice(0, headEnd) + BY_OUR_CLOCK + script.slice(headEnd);
  known.set(hashOf(script), hashOf(clocked));
  return clocked;
}

type SendArguments = Parameters<Redis['sendCommand']>;

class ClockedClient extends Redis {
  override duplicate(changes?: Partial<RedisOptions>): Redis {
    return new ClockedClient({ ...this.options, ...changes, replyMapping: 'legacy' });
  }

  override sendCommand(...[command, stream]: SendArguments): unknown {
    const [script] = command.args;
    if (typeof script === 'string') {
      if (command.name === 'eval') command.args[0] = byOurClock(script);
      if (command.name === 'evalsha') command.args[0] = known.get(script) ?? script;
    }
    return super.sendCommand(command, stream);
  }
}

export class ClockedRedis {
  private time = START_OF_TIME;

  private constructor(
    private readonly server: StartedServer,
    /** To look at the server from outside. */
    readonly redis: Redis,
    /** For stores. */
    readonly connection: RedisConnection,
  ) {}

  static async start(): Promise<ClockedRedis> {
    const server = await startServer();
    const client = new ClockedClient(server.url, { lazyConnect: true });
    const connection = new RedisConnection(
      { client },
      { commandTimeoutMs: 20_000, reconnect: INTERNAL.storeRetry, warn: () => {} },
    );
    await connection.open();
    return new ClockedRedis(server, openRedis(server.url), connection);
  }

  now(): number {
    return this.time;
  }

  async pass(ms: number): Promise<void> {
    this.time += ms;
    await this.redis.eval(PASS, 0, this.time);
  }

  /** An empty server at the start of time. */
  async startOver(): Promise<void> {
    this.time = START_OF_TIME;
    await this.redis.flushall();
    await this.pass(0);
  }

  /** All there is. */
  async keys(): Promise<string[]> {
    return (await this.redis.keys('*')).filter((key) => key !== CLOCK_KEY).toSorted();
  }

  async close(): Promise<void> {
    await this.connection.close();
    this.redis.disconnect();
    await this.server.stop();
  }
}
