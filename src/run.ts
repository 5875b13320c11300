/** Starts a process: a mistake of the person who started it is answered with one line, a bug with its stack. */
import { ConsoleLogger, type INestApplicationContext, ShutdownSignal } from '@nestjs/common';
import { FencelineError } from '@fenceline/nestjs';
import { ConfigError } from './config/app-config.js';

/** Creates the app and lets it serve until the process is told to stop. On failure says why and exits with 1. */
export async function run<App extends INestApplicationContext>(
  create: (logger: ConsoleLogger) => Promise<App>,
  serve: (app: App, logger: ConsoleLogger) => Promise<void>,
): Promise<void> {
  const logger = new StartLogger();
  let app: App | undefined;
  try {
    app = await create(logger);
    // With useProcessExit the process also ends where it is number 1 of a container and a signal would not end it.
    app.enableShutdownHooks([ShutdownSignal.SIGTERM, ShutdownSignal.SIGINT], { useProcessExit: true });
    await serve(app, logger);
  } catch (error) {
    // Workers may be running by now: give their jobs back instead of letting the leases run out.
    await app?.close().catch(() => {});
    process.stderr.write(`Cannot start: ${explain(error)}\n`);
    process.exit(1);
  }
}

/** Nest's own account of the start: every module and route, in which the one warning that matters would drown. */
const STARTUP_NOISE = new Set<unknown>(['InstanceLoader', 'RoutesResolver', 'RouterExplorer']);
/** Where Nest logs what stopped the start, before it throws it to `run`, which says it better. */
const STARTUP_FAILURES = new Set<unknown>(['ExceptionHandler', 'NestApplication']);

class StartLogger extends ConsoleLogger {
  override log(message: unknown, ...rest: unknown[]): void {
    if (!STARTUP_NOISE.has(rest.at(-1))) super.log(message, ...rest);
  }

  override error(message: unknown, ...rest: unknown[]): void {
    if (!STARTUP_FAILURES.has(rest.at(-1))) super.error(message, ...rest);
  }
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof ConfigError || error instanceof FencelineError) return error.message;
  if ('code' in error && error.code === 'EADDRINUSE') return `${error.message}. Choose another port.`;
  return error.stack ?? error.message;
}
