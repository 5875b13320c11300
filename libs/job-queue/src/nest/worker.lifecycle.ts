/**
 * Starts the workers after every other bootstrap hook of the app and drains them before every other destroy
 * hook, so that handlers can use all other providers for their whole life.
 */
import { Injectable, Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import { WorkerRuntime } from './worker.runtime.js';

@Injectable()
export class WorkerLifecycle implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(
    modules: ModulesContainer,
    private readonly moduleRef: ModuleRef,
  ) {
    // Nest bootstraps modules by falling distance from the root and destroys them in reverse. JobQueueModule
    // is global, hence bootstrapped first and destroyed last: backwards for a worker. Below the root's 0
    // this module is last and first. Nest internals, so test/e2e/lifecycle.spec.ts holds both orders.
    for (const module of modules.values()) {
      if (module.metatype === WorkerModule) module.distance = -1;
    }
  }

  onApplicationBootstrap(): void {
    this.runtime().start();
  }

  async onModuleDestroy(): Promise<void> {
    await this.runtime().stop();
  }

  /** Not injected: JobQueueModule need not be global, and importing it here would be a circle. */
  private runtime(): WorkerRuntime {
    return this.moduleRef.get(WorkerRuntime, { strict: false });
  }
}

@Module({ providers: [WorkerLifecycle] })
export class WorkerModule {}
