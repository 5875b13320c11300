/** A Nest app that listens on a free port, on Express or Fastify, with the module on either store. */
import 'reflect-metadata';
import { Module, type INestApplication, type ModuleMetadata, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { JobQueueModule, type JobQueueModuleOptions } from '@fenceline/nestjs';
import type { StoreKind } from './nest-app.js';
import { deletePrefix, newPrefix, openRedis, redisUrl } from './redis.js';

export type AdapterKind = 'express' | 'fastify';
export const ADAPTERS: readonly AdapterKind[] = ['express', 'fastify'];

export interface HttpAppOptions {
  readonly adapter: AdapterKind;
  readonly store: StoreKind;
  readonly controllers: readonly Type[];
  readonly providers?: NonNullable<ModuleMetadata['providers']>;
  readonly options?: JobQueueModuleOptions;
  /** Before the app starts: global pipes, filters and interceptors. */
  readonly configure?: (app: INestApplication) => void;
}

export interface HttpReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: unknown;
}

export interface HttpApp {
  readonly app: INestApplication;
  readonly url: string;
  readonly prefix: string;
  post(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<HttpReply>;
  close(): Promise<void>;
}

export async function startHttpApp(given: HttpAppOptions): Promise<HttpApp> {
  const { adapter, store, controllers, providers = [], options = {}, configure } = given;
  const prefix = newPrefix();
  const connection = store === 'memory' ? ('memory' as const) : { url: redisUrl() };

  @Module({
    imports: [JobQueueModule.forRoot({ connection, prefix, worker: false, logging: false, ...options })],
    controllers: [...controllers],
    providers,
  })
  class HttpTestModule {}

  // Idle connections of fetch() would keep the server open for seconds.
  const settings = { logger: false, abortOnError: false, forceCloseConnections: true } as const;
  const app: INestApplication =
    adapter === 'fastify'
      ? await NestFactory.create(HttpTestModule, new FastifyAdapter(), settings)
      : await NestFactory.create(HttpTestModule, settings);
  configure?.(app);
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  return {
    app,
    url,
    prefix,
    post: async (path, body, headers = {}) => {
      const reply = await fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
        redirect: 'manual',
      });
      const text = await reply.text();
      return { status: reply.status, headers: reply.headers, text, json: parse(text) };
    },
    close: async () => {
      await app.close();
      if (store !== 'redis') return;
      const redis = openRedis();
      await deletePrefix(redis, prefix);
      redis.disconnect();
    },
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
