/** Every TypeScript example in the documents compiles against the built library. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { codeBlocks, documents, readDocument, ROOT } from './markdown.js';

/** What an example that shows no imports may take for granted. */
const SURROUNDINGS = `
import { Body, Controller, Get, Injectable, Module, Param, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { HealthCheckService } from '@nestjs/terminus';
import {
  currentIdempotency, currentLease, defineJob, Idempotent, IdempotencyService, JobContext, JobEvents, JobHandler,
  JobQueueModule, LeaseHealthIndicator, LockService, QueueAdmin, QueueHealthIndicator, QueueInspector, QueueService,
  WithLock, WorkerHealthIndicator,
} from '@fenceline/nestjs';
declare const queue: QueueService;
declare const inspector: QueueInspector;
declare const locks: LockService;
declare const idempotency: IdempotencyService;
declare const events: JobEvents;
declare const pager: { alert(text: string): void };
declare class AppModule {}
declare class Welcome { email: string }
declare const SendWelcome: import('@fenceline/nestjs').JobDefinition<Welcome>;
declare class NewOrder { item: string }
declare class OrdersService { create(order: NewOrder): object }
type AuthenticatedRequest = import('@fenceline/nestjs').IdempotentRequest & { user: { tenantId: string } };
declare const invoice: { id: string; amount: number };
declare const payments: { charge(what: object, options: { signal: AbortSignal }): Promise<{ receipt: string }> };
abstract class Reports {
  abstract addPage(id: string, page: number, options: { signal: AbortSignal; fence: number }): Promise<void>;
}
`;

it('compiles', () => {
  const directory = mkdtempSync(join(ROOT, 'dist', 'examples-'));
  try {
    const examples = documents().flatMap((path) =>
      codeBlocks(readDocument(path), 'ts').map((code, i) => ({
        file: `${path.replace(/\W/g, '-')}-${i + 1}.ts`,
        code: /^import /m.test(code) ? code : `${SURROUNDINGS}${code}`,
      })),
    );
    expect(examples.length).toBeGreaterThan(5);
    for (const { file, code } of examples) writeFileSync(join(directory, file), code);
    const compilerOptions = {
      noEmit: true,
      composite: false,
      noUnusedLocals: false,
      // An example is a module although it imports and exports nothing.
      moduleDetection: 'force',
    };
    const config = { extends: join(ROOT, 'tsconfig.base.json'), compilerOptions, include: ['*.ts'] };
    writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
    writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(config));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', directory, '--pretty', 'false'], {
      cwd: directory,
      encoding: 'utf8',
    });
    expect(stdout).toBe('');
    expect(status).toBe(0);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}, 60_000);
