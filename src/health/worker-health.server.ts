/** The three health routes for a worker process, which has no HTTP API of its own. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { type HealthAnswer, HealthReport } from './health.report.js';

@Injectable()
export class WorkerHealthServer implements OnApplicationShutdown {
  private readonly logger = new Logger(WorkerHealthServer.name);
  private server: Server | undefined;

  constructor(private readonly report: HealthReport) {}

  async listen(port: number): Promise<void> {
    this.server = createServer((request, response) => void this.handle(request, response));
    this.server.listen(port);
    await once(this.server, 'listening');
  }

  onApplicationShutdown(): void {
    this.server?.close();
    this.server?.closeAllConnections();
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { httpStatus, body } = await this.answer(request.url).catch((error: unknown) => {
      this.logger.error(error);
      return { httpStatus: 500, body: { status: 'error' } };
    });
    response.writeHead(httpStatus, { 'content-type': 'application/json', 'cache-control': 'no-store' });
    response.end(JSON.stringify(body));
  }

  private async answer(url: string | undefined): Promise<HealthAnswer> {
    switch (url) {
      case '/health':
        return this.report.all();
      case '/health/live':
        return this.report.live();
      case '/health/ready':
        return this.report.ready();
      default:
        return { httpStatus: 404, body: { status: 'not_found' } };
    }
  }
}
