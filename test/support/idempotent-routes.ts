/** Routes with `@Idempotent()` of every kind, for the tests, and what the tests see and steer of them. */
import { Readable } from 'node:stream';
import {
  BadRequestException,
  Body,
  type CanActivate,
  ConflictException,
  Controller,
  type ExecutionContext,
  Header,
  HttpCode,
  HttpException,
  HttpStatus,
  Injectable,
  Param,
  Post,
  Redirect,
  Res,
  ServiceUnavailableException,
  StreamableFile,
  UseGuards,
  ValidationPipe,
} from '@nestjs/common';
import { Exclude } from 'class-transformer';
import { IsInt } from 'class-validator';
import { bodyField, currentIdempotency, Idempotent, type IdempotencyContext } from '@fenceline/nestjs';

export class Order {
  @IsInt() amount!: number;
}

export class Receipt {
  readonly id: number;
  @Exclude() readonly secret = 'not for clients';

  constructor(id: number) {
    this.id = id;
  }
}

/** What both frameworks' responses can do. */
interface AnyResponse {
  status(code: number): AnyResponse;
  send(body: unknown): unknown;
  readonly raw?: AnyRawResponse;
}
interface AnyRawResponse {
  write(chunk: string): unknown;
  end(chunk?: string): unknown;
}

@Injectable()
export class Runs {
  count = 0;
  readonly contexts: (IdempotencyContext | undefined)[] = [];
  private readonly waiting: (() => void)[] = [];

  start(): number {
    this.contexts.push(currentIdempotency());
    this.count += 1;
    return this.count;
  }

  hold(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  /** Lets the first of those that hold go on. */
  finishNext(): void {
    this.waiting.shift()?.();
  }
}

@Injectable()
class TokenGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string | undefined> }>();
    return headers['x-token'] === 'good';
  }
}

@Controller()
export class Routes {
  constructor(private readonly runs: Runs) {}

  @Post('orders')
  @Header('location', '/orders/1')
  @Header('x-internal', 'only once')
  @Idempotent()
  create(@Body() body: unknown): object {
    return { run: this.runs.start(), body, none: null, list: [] };
  }

  @Idempotent()
  @Post('orders/:id/pay')
  @HttpCode(202)
  pay(@Param('id') id: string): object {
    return { run: this.runs.start(), id };
  }

  @Post('optional')
  @Idempotent({ required: false })
  optional(): object {
    return { run: this.runs.start() };
  }

  @Post('by-field')
  @Idempotent({ key: bodyField('requestId') })
  byField(): object {
    return { run: this.runs.start() };
  }

  @Post('held')
  @Idempotent({ leaseMs: 400 })
  async held(): Promise<object> {
    const run = this.runs.start();
    await this.runs.hold();
    return { run };
  }

  @Post('waited-for')
  @Idempotent({ waitMs: 5_000 })
  async waitedFor(): Promise<object> {
    const run = this.runs.start();
    await this.runs.hold();
    return { run };
  }

  @Post('waited-briefly')
  @Idempotent({ waitMs: 50 })
  async waitedBriefly(): Promise<object> {
    const run = this.runs.start();
    await this.runs.hold();
    return { run };
  }

  @Post('broken')
  @Idempotent()
  broken(): never {
    throw new Error(`run ${this.runs.start()}`);
  }

  @Post('unavailable')
  @Idempotent({ storeServerErrors: true })
  unavailable(): never {
    throw new ServiceUnavailableException(`run ${this.runs.start()}`);
  }

  @Post('refusing')
  @Idempotent()
  refusing(): never {
    throw new ConflictException(`run ${this.runs.start()}`);
  }

  @Post('not-now')
  @Idempotent()
  notNow(): never {
    throw new HttpException(`run ${this.runs.start()}`, HttpStatus.TOO_MANY_REQUESTS);
  }

  @Post('refusing-unstored')
  @Idempotent({ storeClientErrors: false })
  refusingUnstored(): never {
    throw new BadRequestException(`run ${this.runs.start()}`);
  }

  @Post('missing')
  @Idempotent()
  missing(): never {
    throw new RangeError(`run ${this.runs.start()}`);
  }

  @Post('guarded')
  @UseGuards(TokenGuard)
  @Idempotent()
  guarded(): object {
    return { run: this.runs.start() };
  }

  @Post('validated')
  @Idempotent()
  validated(@Body(new ValidationPipe()) order: Order): object {
    return { run: this.runs.start(), order };
  }

  @Post('open')
  @Idempotent({ failOpen: true })
  open(): object {
    return { run: this.runs.start() };
  }

  @Post('large')
  @Idempotent({ resultLimitBytes: 1_000 })
  large(): object {
    return { run: this.runs.start(), text: 'x'.repeat(2_000) };
  }

  @Post('file')
  @Idempotent()
  file(): StreamableFile {
    this.runs.start();
    return new StreamableFile(Readable.from([Buffer.from('first '), Buffer.from('second')]));
  }

  @Post('streamed')
  @Idempotent()
  streamed(@Res() response: AnyResponse & AnyRawResponse): void {
    this.runs.start();
    const raw = response.raw ?? response;
    raw.write('first ');
    raw.end('second');
  }

  @Post('by-hand')
  @Idempotent()
  byHand(@Res() response: AnyResponse): void {
    response.status(207).send({ run: this.runs.start() });
  }

  @Post('text')
  @Idempotent()
  text(): string {
    return `run ${this.runs.start()}`;
  }

  @Post('bytes')
  @Header('content-type', 'application/octet-stream')
  @Idempotent()
  bytes(@Res() response: AnyResponse): void {
    response.status(200).send(Buffer.from([0, 255, this.runs.start()]));
  }

  @Post('nothing')
  @HttpCode(204)
  @Idempotent()
  nothing(): void {
    this.runs.start();
  }

  @Post('elsewhere')
  @Redirect('/orders/7', 303)
  @Idempotent()
  elsewhere(): void {
    this.runs.start();
  }

  @Post('receipt')
  @Idempotent()
  receipt(): Receipt {
    return new Receipt(this.runs.start());
  }
}
