/** `/health` for people and monitors, `/health/live` and `/health/ready` for the platform's probes. */
import { Controller, Get, Header, Res } from '@nestjs/common';
import type { Response } from 'express';
import { type HealthAnswer, HealthReport } from './health.report.js';

@Controller('health')
export class HealthController {
  constructor(private readonly report: HealthReport) {}

  @Get()
  @Header('Cache-Control', 'no-store')
  async all(@Res({ passthrough: true }) response: Response): Promise<unknown> {
    return send(response, await this.report.all());
  }

  @Get('live')
  @Header('Cache-Control', 'no-store')
  async live(@Res({ passthrough: true }) response: Response): Promise<unknown> {
    return send(response, await this.report.live());
  }

  @Get('ready')
  @Header('Cache-Control', 'no-store')
  async ready(@Res({ passthrough: true }) response: Response): Promise<unknown> {
    return send(response, await this.report.ready());
  }
}

/** Health answers keep Terminus's own format, which monitors know, also when something is down. */
function send(response: Response, { httpStatus, body }: HealthAnswer): unknown {
  response.status(httpStatus);
  return body;
}
