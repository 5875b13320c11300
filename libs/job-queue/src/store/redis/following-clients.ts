/** Clients for blocking commands and subscriptions in a cluster, each at the server where it must be: one that is at the wrong place ends. */
import type { Redis } from 'ioredis';
import type { RedisConnection } from './connection.js';

interface Follower {
  readonly client: Redis;
  readonly address: string;
  /** Whether it is at the right server still. */
  readonly isInPlace: () => boolean;
}

interface Group {
  readonly addresses: () => readonly string[];
  readonly use: (client: Redis) => void;
  readonly followers: Map<string, Follower>;
}

export class FollowingClients {
  private readonly followers = new Set<Follower>();
  private readonly groups = new Set<Group>();

  constructor(
    private readonly connectionTo: (address: string) => RedisConnection,
    /** One of them has lost its server, which may be the first sign that it is gone. */
    private readonly onLost: () => void,
  ) {}

  /** At the server that `place` names, for as long as it names that one. */
  create(place: () => string | undefined): Redis | undefined {
    const address = place();
    if (address === undefined) {
      this.onLost();
      return undefined;
    }
    return this.open(address, () => place() === address).client;
  }

  /** One at each of the servers, also at those that come later. The answer closes them all. */
  createForEach(addresses: () => readonly string[], use: (client: Redis) => void): () => void {
    const group: Group = { addresses, use, followers: new Map() };
    this.groups.add(group);
    this.complete(group);
    return () => {
      this.groups.delete(group);
      for (const { client } of group.followers.values()) client.disconnect();
    };
  }

  /** After the servers of some keys have changed. */
  follow(): void {
    for (const { client, isInPlace } of this.followers) if (!isInPlace()) client.disconnect();
    for (const group of this.groups) this.complete(group);
  }

  close(): void {
    this.groups.clear();
    for (const { client } of this.followers) client.disconnect();
  }

  private complete(group: Group): void {
    for (const address of group.addresses()) {
      const known = group.followers.get(address);
      if (known && this.followers.has(known)) continue;
      const follower = this.open(address, () => group.addresses().includes(address));
      group.followers.set(address, follower);
      group.use(follower.client);
    }
  }

  private open(address: string, isInPlace: () => boolean): Follower {
    const client = this.connectionTo(address).createBlockingClient();
    const follower = { client, address, isInPlace };
    this.followers.add(follower);
    client.on('close', () => this.onLost());
    client.on('end', () => this.followers.delete(follower));
    return follower;
  }
}
