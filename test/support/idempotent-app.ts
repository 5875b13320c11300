/** An app with the routes of idempotent-routes.ts, and what the tests of `@Idempotent()` expect of its answers. */
import { afterEach, beforeEach, expect, jest } from '@jest/globals';
import { Catch, type ArgumentsHost, type ExceptionFilter, type INestApplication } from '@nestjs/common';
import { HttpAdapterHost, type AbstractHttpAdapter } from '@nestjs/core';
import { IdempotencyService, type IdempotencyEvent } from '@fenceline/nestjs';
import { IdempotencyClaims } from '#lib/idempotency/idempotency-claims.js';
import type { IdempotencyStore } from '#lib/store/idempotency-store.js';
import { ADAPTERS, startHttpApp, type AdapterKind, type HttpApp, type HttpReply } from './http-app.js';
import { AllRoutes } from './idempotent-controller.js';
import { Routes, Runs } from './idempotent-routes.js';
import { STORES, type StoreKind } from './nest-app.js';

export interface Case {
  readonly adapter: AdapterKind;
  readonly store: StoreKind;
}
export const CASES: readonly Case[] = ADAPTERS.flatMap((adapter) =>
  STORES.map((store) => ({ adapter, store })),
);
export const KEY = { 'idempotency-key': '8e03978e-40d5-43dd-bc93-6894a57f9324' };

/** Turns an error of the domain into a 404, as filters do. */
@Catch(RangeError)
class RangeFilter implements ExceptionFilter {
  constructor(private readonly adapter: AbstractHttpAdapter) {}

  catch({ message }: RangeError, host: ArgumentsHost): void {
    this.adapter.reply(host.switchToHttp().getResponse(), { message }, 404);
  }
}

export class IdempotentApp {
  readonly runs: Runs;
  readonly service: IdempotencyService;
  readonly store: IdempotencyStore;
  private readonly events: IdempotencyEvent[] = [];

  private constructor(readonly http: HttpApp) {
    this.runs = http.app.get(Runs);
    this.service = http.app.get(IdempotencyService);
    this.store = http.app.get(IdempotencyClaims).store;
    this.service.events.on((event) => void this.events.push(event));
  }

  static async start(given: Case, configure?: (app: INestApplication) => void): Promise<IdempotentApp> {
    const http = await startHttpApp({
      ...given,
      controllers: [Routes, AllRoutes],
      providers: [Runs],
      configure: (app) => {
        app.useGlobalFilters(new RangeFilter(app.get(HttpAdapterHost).httpAdapter));
        configure?.(app);
      },
    });
    return new IdempotentApp(http);
  }

  post(path: string, body: unknown = {}, headers: Record<string, string> = KEY): Promise<HttpReply> {
    return this.http.post(path, body, headers);
  }

  /** The names of the events so far. */
  seen(): string[] {
    return this.events.map(({ event }) => event);
  }
}

/** A fresh app for each test of the surrounding `describe`. */
export function useIdempotentApp(given: Case): () => IdempotentApp {
  let app: IdempotentApp | undefined;
  beforeEach(async () => {
    app = await IdempotentApp.start(given);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await app?.http.close();
    app = undefined;
  });
  return () => {
    if (!app) throw new Error('there is an app only while a test runs');
    return app;
  };
}

export function expectProblem(reply: HttpReply, status: number, code: string): void {
  expect({ status: reply.status, json: reply.json }).toMatchObject({
    status,
    json: {
      type: expect.stringMatching(/^urn:fenceline:problem:idempotency-/),
      title: expect.any(String),
      status,
      detail: expect.any(String),
      code,
    },
  });
  expect(reply.headers.get('content-type')).toMatch(/^application\/problem\+json/);
}

export function expectReplay(reply: HttpReply, first: HttpReply): void {
  expect({ status: reply.status, text: reply.text }).toEqual({ status: first.status, text: first.text });
  expect(reply.headers.get('content-type')).toBe(first.headers.get('content-type'));
  expect(reply.headers.get('idempotent-replayed')).toBe('true');
  expect(first.headers.get('idempotent-replayed')).toBeNull();
}
