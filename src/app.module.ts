/** The whole app. API and worker processes load the same modules; the role decides whether jobs run here. */
import { type DynamicModule, Module } from '@nestjs/common';
import { JobQueueModule } from '@fenceline/nestjs';
import { CachesModule } from './caches/caches.module.js';
import { AppConfig } from './config/app-config.js';
import { ConfigModule } from './config/config.module.js';
import { EmailsModule } from './emails/emails.module.js';
import { HealthModule } from './health/health.module.js';
import { InvoicesModule } from './invoices/invoices.module.js';
import { JobsModule } from './jobs/jobs.module.js';

@Module({})
export class AppModule {
  static forRoot(config: AppConfig): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.forRoot(config),
        JobQueueModule.forRootAsync({
          inject: [AppConfig],
          useFactory: ({ redisUrl, prefix, role }: AppConfig) => ({
            ...(redisUrl !== undefined && { connection: { url: redisUrl } }),
            prefix,
            queues: [{ name: 'jobs', concurrency: 20, leaseMs: 30_000 }],
            worker: role !== 'api',
          }),
        }),
        EmailsModule,
        CachesModule,
        InvoicesModule,
        JobsModule,
        HealthModule,
      ],
    };
  }
}
