/** The `send_email` job: what both sides, the API that enqueues it and the handler that runs it, agree on. */
import { defineJob } from '@fenceline/nestjs';
import { IsEmail, IsIn, IsString, Length } from 'class-validator';
import { EMAIL_TEMPLATES, type EmailTemplate } from './templates.js';

export class SendEmailPayload {
  @IsString()
  @Length(1, 128)
  readonly userId!: string;

  @IsEmail()
  readonly email!: string;

  @IsIn(EMAIL_TEMPLATES)
  readonly template!: EmailTemplate;
}

export const SendEmail = defineJob('send_email', SendEmailPayload);
