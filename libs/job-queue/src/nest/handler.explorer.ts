/** Finds the methods decorated with `@JobHandler` and registers them. The one place that reads this metadata. */
import { Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { ConfigurationError } from '../errors/errors.js';
import { checkHandlerOptions } from '../options/handler-options.js';
import { QueueRegistry } from '../queue/queue-registry.js';
import { HandlerRegistry } from '../worker/handler-registry.js';
import type { JobContext } from '../worker/job-context.js';
import { JOB_HANDLER_METADATA, type JobHandlerMetadata } from './decorators.js';

type Method = (payload: unknown, job: JobContext) => unknown;

@Injectable()
export class HandlerExplorer {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
    private readonly queues: QueueRegistry,
    private readonly handlers: HandlerRegistry,
  ) {}

  /** @throws ConfigurationError for the first handler that cannot work. */
  explore(): void {
    // An alias (`useExisting`) shows the same instance twice.
    const seen = new Set<object>();
    for (const wrapper of [...this.discovery.getProviders(), ...this.discovery.getControllers()]) {
      const prototype: unknown = wrapper.metatype?.prototype ?? Object.getPrototypeOf(wrapper.instance ?? {});
      if (typeof prototype !== 'object' || prototype === null) continue;
      for (const name of this.scanner.getAllMethodNames(prototype)) {
        const metadata = this.readMetadata(prototype, name);
        if (!metadata) continue;
        const owner = wrapper.name ?? 'a provider';
        // Of a transient provider Nest has only an instance whose constructor never ran.
        if (!wrapper.isDependencyTreeStatic() || wrapper.isTransient) {
          const mend =
            'must be a singleton: a worker has no request or inquirer to make a scoped provider for';
          throw new ConfigurationError(`${owner}.${name}`, metadata.job, mend);
        }
        const instance: unknown = wrapper.instance;
        if (typeof instance !== 'object' || instance === null || seen.has(instance)) continue;
        this.register(`${owner}.${name}`, instance, name, metadata);
      }
      if (typeof wrapper.instance === 'object' && wrapper.instance !== null) seen.add(wrapper.instance);
    }
  }

  private readMetadata(prototype: object, name: string): JobHandlerMetadata | undefined {
    const method: unknown = Reflect.get(prototype, name);
    return typeof method === 'function' ? this.reflector.get(JOB_HANDLER_METADATA, method) : undefined;
  }

  private register(label: string, instance: object, name: string, metadata: JobHandlerMetadata): void {
    const { job, options = {} } = metadata;
    checkHandlerOptions(label, options);
    const type = typeof job === 'string' ? job : job.type;
    const payload = typeof job === 'string' ? options.payload : job.payload;
    const queue = options.queue ?? this.queues.defaultQueue.options.name;
    this.queues.get(queue);
    this.handlers.register({
      queue,
      type,
      label,
      payload,
      options,
      // Looked up at each call, so that a spy put on the instance later is honoured.
      invoke: (value, context) => methodOf(instance, name).call(instance, value, context),
    });
    this.queues.describeType(queue, type, { payload, maxAttempts: options.maxAttempts });
  }
}

function methodOf(instance: object, name: string): Method {
  return Reflect.get(instance, name) as Method;
}
