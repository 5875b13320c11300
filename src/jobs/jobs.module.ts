/** Jobs of every type, seen from outside. */
import { Module } from '@nestjs/common';
import { AdminGuard } from './admin.guard.js';
import { JobsController } from './jobs.controller.js';

@Module({ controllers: [JobsController], providers: [AdminGuard] })
export class JobsModule {}
