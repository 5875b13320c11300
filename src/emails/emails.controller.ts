/** `POST /emails`: accepts an e-mail for sending and answers at once; a worker sends it. */
import { Body, Controller, HttpCode, HttpStatus, Post, Res } from '@nestjs/common';
import { QueueService } from '@fenceline/nestjs';
import type { Response } from 'express';
import { ClientKey } from '../http/client-key.js';
import { IdempotentRoute } from '../http/idempotent-route.js';
import { OptionalJobId } from '../http/optional-job-id.js';
import { type AcceptedJob, locateJob } from '../jobs/accepted-job.js';
import { keysOf } from './email.keys.js';
import { SendEmail, SendEmailPayload } from './send-email.job.js';

class SendEmailRequest extends SendEmailPayload {
  @OptionalJobId()
  readonly jobId?: string;
}

@Controller('emails')
export class EmailsController {
  constructor(private readonly queue: QueueService) {}

  @Post()
  @IdempotentRoute()
  @HttpCode(HttpStatus.ACCEPTED)
  async send(
    @Body() { jobId, ...payload }: SendEmailRequest,
    @ClientKey() clientKey: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<AcceptedJob> {
    const job = await this.queue.enqueue(SendEmail, payload, { jobId, ...keysOf(payload, clientKey) });
    return locateJob(response, job);
  }
}
