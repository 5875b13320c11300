import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { HealthIndicatorService } from '@nestjs/terminus';
import { HEALTH_DEFAULTS } from '../options/defaults.js';
import { type ObservedStore, type ObservedWorker, QueueSource, WorkerSource } from './health-sources.js';
import { LeaseHealthIndicator } from './lease.health.js';
import { QueueHealthIndicator } from './queue.health.js';
import { WorkerHealthIndicator } from './worker.health.js';

const wedgedFrom = HEALTH_DEFAULTS.downLoopAgeMs;

function worker(queue: string, age: number): ObservedWorker {
  return { queue, workerId: `${queue}-1`, loopAgeMs: () => age };
}

function indicator(...workers: ObservedWorker[]): WorkerHealthIndicator {
  return new WorkerHealthIndicator(new HealthIndicatorService(), { workers: () => workers });
}

describe('WorkerHealthIndicator', () => {
  it('is up while every loop turns', async () => {
    expect(await indicator(worker('jobs', wedgedFrom - 1), worker('mail', 0.4)).isHealthy('worker')).toEqual({
      worker: {
        status: 'up',
        workers: [
          { queue: 'jobs', workerId: 'jobs-1', loopAgeMs: wedgedFrom - 1 },
          { queue: 'mail', workerId: 'mail-1', loopAgeMs: 0 },
        ],
      },
    });
  });

  it('is down when one is wedged, and says which', async () => {
    const checked = indicator(worker('jobs', 0), worker('mail', wedgedFrom));
    expect((await checked.isHealthy('worker')).worker).toMatchObject({
      status: 'down',
      message: expect.stringContaining('worker "mail-1" of queue "mail" is wedged'),
    });
    expect((await checked.isHealthy('worker', { queue: 'jobs' })).worker.status).toBe('up');
    expect((await checked.isHealthy('worker', { downLoopAgeMs: wedgedFrom + 1 })).worker.status).toBe('up');
  });

  it('is up in a process without workers', async () => {
    expect(await indicator().isHealthy('worker')).toEqual({
      worker: { status: 'up', workers: [], message: 'no worker runs in this process' },
    });
    const other = await indicator(worker('jobs', 0)).isHealthy('worker', { queue: 'mail' });
    expect(other.worker).toMatchObject({
      status: 'up',
      message: 'no worker of queue "mail" runs in this process',
    });
  });

  it('is injectable with the sources as tokens, like the others', async () => {
    @Injectable()
    class Queues extends QueueSource {
      queueNames(): readonly string[] {
        return [];
      }
      dataLossOf(): undefined {
        return undefined;
      }
      store(): ObservedStore {
        throw new Error('there is none');
      }
    }
    const app = await Test.createTestingModule({
      providers: [
        HealthIndicatorService,
        QueueHealthIndicator,
        LeaseHealthIndicator,
        WorkerHealthIndicator,
        { provide: QueueSource, useClass: Queues },
        { provide: WorkerSource, useValue: { workers: () => [worker('jobs', 1)] } },
      ],
    }).compile();
    expect(await app.get(QueueHealthIndicator).isHealthy('a')).toEqual({ a: { status: 'up', queues: {} } });
    expect((await app.get(LeaseHealthIndicator).isHealthy('a', { queue: 'x' })).a.status).toBe('down');
    expect((await app.get(WorkerHealthIndicator).isHealthy('a')).a.status).toBe('up');
  });
});
