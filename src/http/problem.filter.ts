/** Answers every error of the HTTP API as `application/problem+json`, and logs those that nobody expected. */
import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import type { Request, Response } from 'express';
import { problemOf } from './problem-of.js';
import { problemBody, UNEXPECTED } from './problem.js';

@Catch()
export class ProblemFilter implements ExceptionFilter {
  private readonly logger = new Logger('HttpApi');

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<Request>();
    const response = http.getResponse<Response>();
    const path = request.originalUrl.split('?', 1)[0] ?? '/';

    const problem = problemOf(error) ?? UNEXPECTED;
    if (problem === UNEXPECTED) {
      const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.logger.error(`${request.method} ${path} failed: ${stack}`);
    }
    if (response.headersSent) {
      response.destroy();
      return;
    }
    if (problem.retryAfter !== undefined) response.set('Retry-After', String(problem.retryAfter));
    response.status(problem.status).type('application/problem+json').json(problemBody(problem, path));
  }
}
