/** A controller that is protected as a whole, with routes of its own and inherited ones. */
import { Controller, Get, Injectable, Post } from '@nestjs/common';
import { Idempotent } from '@fenceline/nestjs';
import { Runs } from './idempotent-routes.js';

@Injectable()
class InheritedRoutes {
  constructor(protected readonly runs: Runs) {}

  @Post('inherited')
  inherited(): object {
    return { run: this.runs.start() };
  }
}

@Controller('all')
@Idempotent({ resultLimitBytes: 1_000 })
export class AllRoutes extends InheritedRoutes {
  @Get('list')
  list(): object {
    return { run: this.runs.start() };
  }

  @Post('plain')
  plain(): object {
    return { run: this.runs.start() };
  }

  @Post('own')
  @Idempotent({ required: false })
  own(): object {
    return { run: this.runs.start(), text: 'x'.repeat(2_000) };
  }
}
