import { afterEach, describe, expect, it } from '@jest/globals';
import { ConsoleLogger, Logger, type LogLevel } from '@nestjs/common';
import { type JobEventMap, type JobEventName, JobEvents } from '../events/job-events.js';
import { EVENT_LINES } from './job-event-fields.js';
import { JobEventLogger, type WorkerContext } from './job-event-logger.js';

class Recorder {
  readonly lines: [string, unknown][] = [];
  log = (message: unknown) => this.lines.push(['log', message]);
  warn = (message: unknown) => this.lines.push(['warn', message]);
  error = (message: unknown) => this.lines.push(['error', message]);
  debug = (message: unknown) => this.lines.push(['debug', message]);
}

const attempt = {
  queue: 'jobs',
  jobId: 'j1',
  jobType: 'send_email',
  attempt: 2,
  workerId: 'w1',
  fencingToken: 1700000000000000,
};
const failure = new Error('cannot send', { cause: new TypeError('no route', { cause: 'down' }) });

const SAMPLES: { [E in JobEventName]: JobEventMap[E] } = {
  enqueued: { queue: 'jobs', jobId: 'j1', jobType: 'send_email', status: 'queued', duplicate: false },
  blocked: { queue: 'jobs', jobId: 'j1', workerId: 'w1' },
  replayed: { queue: 'jobs', jobId: 'j1', workerId: 'w1' },
  acquired: attempt,
  renewed: { queue: 'jobs', workerId: 'w1', leases: 3 },
  lost: { ...attempt, reason: 'renewal hung' },
  done: { ...attempt, durationMs: 12 },
  retry_scheduled: { ...attempt, durationMs: 12, delayMs: 500, error: failure },
  dead: { ...attempt, durationMs: 12, reason: 'permanent_error', error: failure },
  cancelled: { queue: 'jobs', jobId: 'j1' },
  released: { ...attempt, durationMs: 12 },
  snoozed: { ...attempt, delayMs: 500, error: failure },
  stale_refused: { ...attempt, durationMs: 12, status: 'processing', holder: 'w2' },
  runaway: { ...attempt, graceMs: 5_000 },
  reaped: { queue: 'jobs', jobId: 'j1', attempt: 2, workerId: 'w1', fencingToken: 7, status: 'queued' },
  promoted: { queue: 'jobs', jobs: 4 },
  pruned: { queue: 'jobs', jobs: 4 },
  redriven: { queue: 'jobs', jobId: 'j1' },
  removed: { queue: 'jobs', jobId: 'j1' },
  cancel_requested: { queue: 'jobs', jobId: 'j1' },
  paused: { queue: 'jobs' },
  resumed: { queue: 'jobs' },
  store_unavailable: { queue: 'jobs', workerId: 'w1', error: failure },
  store_lost_data: { queue: 'jobs', lost: 'all' },
  store_recovered: { queue: 'jobs', workerId: 'w1', outageMs: 900 },
};

function logged<E extends JobEventName>(
  format: 'text' | 'object',
  event: E,
  data: JobEventMap[E],
  context?: WorkerContext,
): [string, unknown] | undefined {
  const recorder = new Recorder();
  const events = new JobEvents();
  new JobEventLogger(recorder, format, context).subscribe(events);
  events.emit(event, data);
  return recorder.lines[0];
}

afterEach(() => {
  Logger.overrideLogger(new Logger());
  Logger.overrideLogger(['log', 'error', 'warn', 'debug', 'verbose', 'fatal']);
});

describe('JobEventLogger', () => {
  it('writes text as one line of name=value', () => {
    expect(logged('text', 'done', SAMPLES.done)).toEqual([
      'log',
      'event=done queue=jobs job_id=j1 job_type=send_email attempt=2 worker_id=w1 lease_owner=w1 ' +
        'fencing_token=1700000000000000 duration_ms=12',
    ]);
    expect(logged('text', 'retry_scheduled', SAMPLES.retry_scheduled)).toEqual([
      'warn',
      'event=retry_scheduled queue=jobs job_id=j1 job_type=send_email attempt=2 worker_id=w1 lease_owner=w1 ' +
        'fencing_token=1700000000000000 duration_ms=12 delay_ms=500 error="Error: cannot send" ' +
        'error_cause="TypeError: no route <- NonError: down"',
    ]);
  });

  it('writes the fields as an object, without those that have no value', () => {
    expect(logged('object', 'stale_refused', { ...SAMPLES.stale_refused, jobType: undefined })).toEqual([
      'warn',
      {
        event: 'stale_refused',
        queue: 'jobs',
        job_id: 'j1',
        attempt: 2,
        worker_id: 'w1',
        lease_owner: 'w2',
        fencing_token: 1700000000000000,
        status: 'processing',
        duration_ms: 12,
      },
    ]);
    expect(logged('object', 'paused', SAMPLES.paused)).toEqual(['log', { event: 'paused', queue: 'jobs' }]);
    expect(logged('object', 'lost', SAMPLES.lost)?.[1]).not.toHaveProperty('lease_owner');
  });

  it('names the former owner of a reaped lease, and this process as the one who speaks', () => {
    expect(logged('object', 'reaped', SAMPLES.reaped, { workerId: 'w9' })?.[1]).toMatchObject({
      worker_id: 'w9',
      lease_owner: 'w1',
    });
    expect(logged('object', 'reaped', SAMPLES.reaped)?.[1]).not.toHaveProperty('worker_id');
    expect(logged('object', 'done', SAMPLES.done, { workerId: 'w9' })?.[1]).toMatchObject({
      worker_id: 'w1',
    });
  });

  it.each([
    ['plain-value:1', 'plain-value:1'],
    ['', '""'],
    ['two words', '"two words"'],
    ['say "x"', '"say \\"x\\""'],
    ['a=b', '"a=b"'],
    ['a\nb\u2028c\u0085d', '"a\\nb\\u2028c\\u0085d"'],
    ['c:\\x', '"c:\\\\x"'],
    ['\u001b[31m', '"\\u001b[31m"'],
  ])('keeps %j on one unambiguous line', (reason, written) => {
    const line = logged('text', 'lost', { ...SAMPLES.lost, reason })?.[1];
    expect(line).toMatch(/^event=lost /);
    expect(String(line).endsWith(` reason=${written}`)).toBe(true);
  });

  it('has a level for every event', () => {
    const levels: Record<string, string[]> = {};
    for (const [event, { level }] of Object.entries(EVENT_LINES)) (levels[level] ??= []).push(event);
    expect(levels).toEqual({
      debug: ['enqueued', 'blocked', 'acquired', 'renewed', 'promoted', 'pruned'],
      log: [
        ...[
          'replayed',
          'done',
          'cancelled',
          'released',
          'snoozed',
          'redriven',
          'removed',
          'cancel_requested',
        ],
        ...['paused', 'resumed', 'store_recovered'],
      ],
      warn: ['lost', 'retry_scheduled', 'stale_refused', 'runaway', 'reaped'],
      error: ['dead', 'store_unavailable', 'store_lost_data'],
    });
    expect(Object.keys(EVENT_LINES).toSorted()).toEqual(Object.keys(SAMPLES).toSorted());
  });

  it('leaves events alone whose level is off, so that nobody builds them', () => {
    Logger.overrideLogger(['warn', 'error', 'fatal']);
    const events = new JobEvents();
    new JobEventLogger(new Logger('Jobs'), 'text').subscribe(events);
    expect(events.has('acquired')).toBe(false);
    expect(events.has('done')).toBe(false);
    expect(events.has('lost')).toBe(true);
    expect(events.has('dead')).toBe(true);
  });

  it.each([
    ['a console logger with levels of its own', new ConsoleLogger('x', { logLevels: ['error'] })],
    ['a logger that cannot debug', { log() {}, warn() {}, error() {} }],
    ['no logging at all', false],
  ])('hears no debug events with %s as the logger of the app', (_, appLogger) => {
    Logger.overrideLogger(appLogger);
    const events = new JobEvents();
    new JobEventLogger(new Logger('Jobs'), 'text').subscribe(events);
    expect(events.has('enqueued')).toBe(false);
    expect(events.has('dead')).toBe(appLogger !== false);
  });

  it("asks a logger that is not Nest's only itself", () => {
    Logger.overrideLogger(false);
    expect(logged('object', 'paused', SAMPLES.paused)).toEqual(['log', { event: 'paused', queue: 'jobs' }]);
  });

  it('builds nothing after its level was switched off', () => {
    const levels: LogLevel[] = ['log', 'warn', 'error'];
    const recorder = Object.assign(new Recorder(), {
      isLevelEnabled: (level: LogLevel) => levels.includes(level),
    });
    const events = new JobEvents();
    new JobEventLogger(recorder, 'text').subscribe(events);
    events.emit('retry_scheduled', SAMPLES.retry_scheduled);
    levels.length = 0;
    const untouchable = new Proxy(SAMPLES.retry_scheduled, {
      get: () => {
        throw new Error('was read');
      },
    });
    events.emit('retry_scheduled', untouchable);
    expect(recorder.lines).toHaveLength(1);
  });

  it('unsubscribes', () => {
    const events = new JobEvents();
    const stop = new JobEventLogger(new Recorder(), 'text').subscribe(events);
    expect(events.has('done')).toBe(true);
    stop();
    expect(events.has('done')).toBe(false);
    expect(events.has('dead')).toBe(false);
  });
});
