/** Apps that cannot work as they are written: each fails to boot, with an error that names the culprit. */
import { describe, expect, it } from '@jest/globals';
import { Inject, Injectable, Module, Scope, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  ConfigurationError,
  JobHandler,
  JobQueueModule,
  UnknownQueueError,
  type JobQueueModuleOptions,
} from '@fenceline/nestjs';

const MEMORY: JobQueueModuleOptions = { connection: 'memory', queues: [{ name: 'jobs' }], logging: false };

describe('boot errors', () => {
  async function bootError(
    providers: Type[],
    options: JobQueueModuleOptions | Record<string, unknown> = MEMORY,
  ): Promise<unknown> {
    @Module({ imports: [JobQueueModule.forRoot(options)], providers })
    class TestModule {}
    return NestFactory.createApplicationContext(TestModule, { logger: false, abortOnError: false }).then(
      async (context) => {
        await context.close();
        return 'it booted';
      },
      (error: unknown) => error,
    );
  }

  @Injectable()
  class First {
    @JobHandler('send_email')
    send(): void {}
  }

  it('two handlers for one type: names both', async () => {
    @Injectable()
    class Second {
      @JobHandler('send_email')
      alsoSend(): void {}
    }
    const error = await bootError([First, Second]);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ message: expect.stringContaining('First.send') });
    expect(error).toMatchObject({ message: expect.stringContaining('Second.alsoSend') });
  });

  it('a handler for a queue that is not configured: names it and those that are', async () => {
    @Injectable()
    class Lost {
      @JobHandler('send_email', { queue: 'mails' })
      send(): void {}
    }
    const error = await bootError([Lost], { ...MEMORY, queues: [{ name: 'jobs' }, { name: 'mail' }] });
    expect(error).toBeInstanceOf(UnknownQueueError);
    expect(error).toMatchObject({ message: expect.stringMatching(/"mails".*jobs, mail/) });
  });

  it.each([
    ['request', Scope.REQUEST],
    ['transient', Scope.TRANSIENT],
  ])('a handler on a %s-scoped provider', async (_what, scope) => {
    @Injectable({ scope })
    class PerRequest {
      @JobHandler('send_email')
      send(): void {}
    }
    const error = await bootError([PerRequest]);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ field: 'PerRequest.send', message: expect.stringContaining('singleton') });
  });

  it('a handler on a provider that depends on a request-scoped one', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Request {}
    @Injectable()
    class Dependent {
      constructor(@Inject(Request) readonly request: Request) {}

      @JobHandler('send_email')
      send(): void {}
    }
    const error = await bootError([Request, Dependent]);
    expect(error).toMatchObject({ code: 'CONFIGURATION', field: 'Dependent.send' });
  });

  it.each([
    [{ conection: 'memory' }, 'conection', /did you mean connection\?/],
    [{ ...MEMORY, queues: [{ name: 'jobs', lease: 5 }] }, 'queues[0].lease', /did you mean leaseMs\?/],
    [
      { ...MEMORY, maintenance: { reapInterval: 1 } },
      'maintenance.reapInterval',
      /did you mean reapIntervalMs\?/,
    ],
  ])('an option that does not exist: %j', async (options, field, message) => {
    const error = await bootError([], options);
    expect(error).toMatchObject({ code: 'CONFIGURATION', field, message: expect.stringMatching(message) });
  });

  it('a bad option of a handler: names the handler', async () => {
    @Injectable()
    class Impatient {
      @JobHandler('send_email', { maxAttempts: 0 })
      send(): void {}
    }
    const error = await bootError([Impatient]);
    expect(error).toMatchObject({ code: 'CONFIGURATION', field: expect.stringContaining('Impatient.send') });
    expect(error).toMatchObject({ message: expect.stringContaining('maxAttempts') });
  });
});
