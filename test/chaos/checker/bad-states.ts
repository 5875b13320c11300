/** What Redis holds in the end although it must not, or does not hold although it must, one lie per line. */
import { countsAgree } from './checks/counts-agree.js';
import { noJobLost } from './checks/no-job-lost.js';
import { noOrphanKey } from './checks/no-orphan-key.js';
import { nothingInvented } from './checks/nothing-invented.js';
import { oneState } from './checks/one-state.js';
import { refusedNotStored } from './checks/refused-not-stored.js';
import { storedOnce } from './checks/stored-once.js';
import { hash, list, ran, text, zset } from './good-evidence.js';
import { add, type BadCase } from './spoil.js';

export const BAD_STATES: readonly BadCase[] = [
  [
    'an acknowledged job is gone',
    noJobLost,
    { without: ['{jobs}:job:plain', '{jobs}:run:plain', '{jobs}:result:plain'] },
  ],
  ['a job is still processing', noJobLost, { final: { '{jobs}:run:plain': hash({ status: 'processing' }) } }],
  ['a job without a run is still queued', noJobLost, { without: ['{jobs}:run:plain'] }],
  ['a job that nobody enqueued', nothingInvented, { final: { '{jobs}:job:ghost': text('{}') } }],
  [
    'a run of a job that nobody enqueued',
    nothingInvented,
    { lines: add(...ran(2_500, 'worker-2', 'ghost', 2_000)) },
  ],
  ['a refused job is stored', refusedNotStored, { final: { '{jobs}:job:refused': text('{}') } }],
  ['a refused job runs', refusedNotStored, { lines: add(...ran(2_500, 'worker-2', 'refused', 2_000)) }],
  [
    'the same id is stored twice',
    storedOnce,
    {
      lines: add([
        30,
        'producer-1',
        { kind: 'enqueue_acknowledged', jobId: 'plain', storedId: 'plain', duplicate: false },
      ]),
    },
  ],
  ['a done job is also queued', oneState, { final: { '{jobs}:queued:5': list('plain') } }],
  ['a job stands twice in a list', oneState, { final: { '{jobs}:queued:5': list('plain', 'plain') } }],
  ['a job stands nowhere', oneState, { final: { '{jobs}:done': zset('plain') } }],
  [
    'its status is another one than its place',
    oneState,
    { final: { '{jobs}:run:plain': hash({ status: 'dead' }) } },
  ],
  ['an entry has no job', oneState, { final: { '{jobs}:dead': zset('nobody') } }],
  ['a lock is left', noOrphanKey, { final: { '{jobs}:lock:resource:r': text('1001 plain') } }],
  ['a dedup key is left', noOrphanKey, { final: { '{jobs}:dedup:d': hash({ job_id: 'plain' }) } }],
  ['a waiting list is left', noOrphanKey, { final: { '{jobs}:waiting:resource:r': list('plain') } }],
  ['leases of a worker are left', noOrphanKey, { final: { '{jobs}:held:w': hash({ plain: '1001:0:1' }) } }],
  [
    'an operation that nobody does is left',
    noOrphanKey,
    { final: { '{jobs}:idempotency:x': hash({ pending: '1' }) } },
  ],
  ['a result without its job', noOrphanKey, { final: { '{jobs}:result:ghost': text('{}') } }],
  ['a minute of counters stays for ever', noOrphanKey, { final: { '{jobs}:stats:1': hash({}) } }],
  [
    'a worker that ended is on record',
    noOrphanKey,
    { final: { '{jobs}:workers': zset('host-101-abcd1234') } },
  ],
  ['a record of a worker nobody lists', noOrphanKey, { final: { '{jobs}:worker:w': hash({ pid: '1' }) } }],
  ['a key that nobody knows', noOrphanKey, { final: { '{jobs}:something': text('') } }],
  ['a lock outside of queues is still held', noOrphanKey, { final: { 'lock:{door}:holder': hash({}, 500) } }],
  ['the counter of a lock never expires', noOrphanKey, { final: { 'lock:{door}:fence': text('60') } }],
  ['a job was counted twice', countsAgree, { final: { '{jobs}:stats': hash({ enqueued: '6', done: '7' }) } }],
];
