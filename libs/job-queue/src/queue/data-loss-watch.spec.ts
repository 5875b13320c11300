import { beforeEach, describe, expect, it } from '@jest/globals';
import { JobEvents } from '../events/job-events.js';
import { INTERNAL } from '../options/defaults.js';
import { DataLossWatch } from './data-loss-watch.js';

describe('DataLossWatch', () => {
  let now: number;
  let told: unknown[];
  let watch: DataLossWatch;

  beforeEach(() => {
    now = 0;
    told = [];
    const events = new JobEvents();
    events.on('store_lost_data', (data) => void told.push(data));
    watch = new DataLossWatch(events, () => now);
  });

  it('is silent while a queue is new, and while it grows', () => {
    watch.observe('jobs', { createdAt: undefined, counted: 0 });
    watch.observe('jobs', { createdAt: undefined, counted: 2 });
    watch.observe('jobs', { createdAt: 7, counted: 2 });
    watch.observe('jobs', { createdAt: 7, counted: 9 });
    watch.observe('mail', { createdAt: 8, counted: 0 });
    expect(told).toEqual([]);
    expect(watch.lossOf('jobs')).toBeUndefined();
  });

  it('tells once that everything is gone, even if there is more already than before', () => {
    watch.observe('jobs', { createdAt: 7, counted: 2 });
    watch.observe('jobs', { createdAt: undefined, counted: 0 });
    watch.observe('jobs', { createdAt: 9, counted: 5 });
    watch.observe('jobs', { createdAt: 9, counted: 6 });
    expect(told).toEqual([{ queue: 'jobs', lost: 'all' }]);
    watch.observe('jobs', { createdAt: 10, counted: 7 });
    expect(told).toHaveLength(2);
  });

  it('tells that the latest is gone', () => {
    watch.observe('jobs', { createdAt: 7, counted: 20 });
    watch.observe('jobs', { createdAt: 7, counted: 19 });
    expect(told).toEqual([{ queue: 'jobs', lost: 'latest' }]);
  });

  it('remembers a loss for an hour', () => {
    watch.observe('jobs', { createdAt: 7, counted: 20 });
    watch.observe('jobs', { createdAt: 8, counted: 0 });
    now = 1_500;
    expect(watch.lossOf('jobs')).toEqual({ lost: 'all', agoMs: 1_500 });
    now = INTERNAL.dataLossShownMs;
    expect(watch.lossOf('jobs')).toBeUndefined();
  });
});
