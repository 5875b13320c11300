/** Injection tokens and the options builder of the module. */
import { ConfigurableModuleBuilder } from '@nestjs/common';
import type { JobQueueModuleOptions } from '../options/options.js';

export const RESOLVED_OPTIONS = Symbol('fenceline:resolved-options');
export const STORE_BACKEND = Symbol('fenceline:store-backend');

/** `isGlobal`: whether the services can be injected everywhere without importing the module again. */
export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } =
  new ConfigurableModuleBuilder<JobQueueModuleOptions>()
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createJobQueueOptions')
    .setExtras({ isGlobal: true }, (definition, { isGlobal }) => ({ ...definition, global: isGlobal }))
    .build();
