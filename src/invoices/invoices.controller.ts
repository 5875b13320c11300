/** `/invoices`: create one, look at it, and bring it into the accounting system. */
import { Body, Controller, Get, HttpCode, HttpStatus, Param, Post, Res } from '@nestjs/common';
import { IsInt, Matches, Max, Min } from 'class-validator';
import type { Response } from 'express';
import { IdempotentRoute } from '../http/idempotent-route.js';
import { InvoiceRepository } from './invoice.repository.js';
import { InvoiceSyncService } from './invoice-sync.service.js';
import { type InvoiceView, viewOf } from './invoice.view.js';

class CreateInvoiceRequest {
  @Matches(/^[\w.-]{1,64}$/, {
    message: '$property must be 1 to 64 letters, digits, dots, dashes or underscores',
  })
  readonly customerId!: string;

  @IsInt()
  @Min(1)
  @Max(1_000_000_000_00)
  readonly amountCents!: number;
}

@Controller('invoices')
export class InvoicesController {
  constructor(
    private readonly invoices: InvoiceRepository,
    private readonly syncs: InvoiceSyncService,
  ) {}

  @Post()
  @IdempotentRoute()
  async create(
    @Body() request: CreateInvoiceRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<InvoiceView> {
    const invoice = await this.invoices.create(request);
    response.location(`/invoices/${invoice.id}`);
    return viewOf(invoice);
  }

  @Get(':invoiceId')
  async get(@Param('invoiceId') invoiceId: string): Promise<InvoiceView> {
    return viewOf(await this.invoices.get(invoiceId));
  }

  /** Its conflicts pass (somebody else is at it), so they are no answer to keep. */
  @Post(':invoiceId/sync')
  @IdempotentRoute({ storeClientErrors: false })
  @HttpCode(HttpStatus.OK)
  async sync(@Param('invoiceId') invoiceId: string): Promise<InvoiceView> {
    return viewOf(await this.syncs.sync(invoiceId));
  }
}
