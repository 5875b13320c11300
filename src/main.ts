/** Entry point of the HTTP API. With ROLE=api it only enqueues, else it also runs jobs. */
import 'reflect-metadata';
import { AppConfig } from './config/app-config.js';
import { createApp } from './create-app.js';
import { greeting } from './greeting.js';
import { run } from './run.js';

await run(
  (logger) => createApp(new AppConfig(process.env), logger),
  async (app) => {
    const config = app.get(AppConfig);
    await app.listen(config.port);
    process.stdout.write(greeting(config, await app.getUrl()));
  },
);
