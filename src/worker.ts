/** Entry point of a process that only runs jobs, so that workers and API scale apart. */
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { AppConfig } from './config/app-config.js';
import { WorkerHealthServer } from './health/worker-health.server.js';
import { run } from './run.js';

await run(
  async (logger) => {
    const config = new AppConfig(process.env, 'worker');
    return NestFactory.createApplicationContext(AppModule.forRoot(config), { abortOnError: false, logger });
  },
  async (app, logger) => {
    const { workerHealthPort } = app.get(AppConfig);
    if (workerHealthPort === undefined) return;
    await app.get(WorkerHealthServer).listen(workerHealthPort);
    logger.log(`Health: http://localhost:${workerHealthPort}/health`, 'Worker');
  },
);
