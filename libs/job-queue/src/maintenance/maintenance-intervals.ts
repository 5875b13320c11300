/** How often each maintenance task runs; injected, since the `@Cron` expressions themselves are literal. */
import type { MaintenanceOptions } from '../options/options.js';

export const MAINTENANCE_INTERVALS = Symbol('fenceline:maintenance-intervals');
export type MaintenanceIntervals = Readonly<Required<MaintenanceOptions>>;
