export interface FoundRedis {
  url: string;
  /** Where it came from, to be shown to people: a path, an image name or 'REDIS_URL'. */
  from: string;
  stop(): Promise<void>;
}

export interface StartedServer extends FoundRedis {
  port: number;
  binary: string;
}

export class NoRedisError extends Error {}

export function findRedis(options?: { log?: (line: string) => void }): Promise<FoundRedis | StartedServer>;

export function findServerBinary(): string | undefined;

export function startServer(options?: {
  binary?: string;
  port?: number;
  args?: string[];
}): Promise<StartedServer>;
