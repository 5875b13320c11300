/** Builds the HTTP app: the one that `main.ts` serves is the one that tests talk to. */
import { type LoggerService, type LogLevel, ValidationPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from './app.module.js';
import type { AppConfig } from './config/app-config.js';
import { refuseLists, requireJson } from './http/json-body.js';
import { ProblemFilter } from './http/problem.filter.js';
import { RequestInvalidException } from './http/request-invalid.exception.js';

export async function createApp(
  config: AppConfig,
  logger?: LoggerService | LogLevel[],
): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(AppModule.forRoot(config), {
    abortOnError: false,
    bodyParser: false,
    ...(logger && { logger }),
  });
  app.disable('x-powered-by');
  app.use(requireJson);
  app.useBodyParser('json', { limit: '100kb' });
  app.use(refuseLists);
  app.useGlobalPipes(
    new ValidationPipe({
      transform: true,
      // A misspelt property is refused, by name, instead of being dropped in silence.
      whitelist: true,
      forbidNonWhitelisted: true,
      exceptionFactory: (errors) => RequestInvalidException.from(errors),
    }),
  );
  app.useGlobalFilters(new ProblemFilter());
  return app;
}
