/** `POST /emails`: accepts an e-mail for sending and answers at once; a worker sends it. */
import { Body, Controller, HttpCode, HttpStatus, Post, Res } from '@nestjs/common';
import { QueueService } from '@fenceline/nestjs';
import type { Response } from 'express';
import { OptionalJobId } from '../http/optional-job-id.js';
import { type AcceptedJob, locateJob } from '../jobs/accepted-job.js';
import { SendEmail, SendEmailPayload } from './send-email.job.js';

class SendEmailRequest extends SendEmailPayload {
  @OptionalJobId()
  readonly jobId?: string;
}

@Controller('emails')
export class EmailsController {
  constructor(private readonly queue: QueueService) {}

  @Post()
  @HttpCode(HttpStatus.ACCEPTED)
  async send(
    @Body() { jobId, ...payload }: SendEmailRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<AcceptedJob> {
    const job = await this.queue.enqueue(SendEmail, payload, jobId === undefined ? {} : { jobId });
    return locateJob(response, job);
  }
}
