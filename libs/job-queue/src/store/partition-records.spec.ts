import { describe, expect, it } from '@jest/globals';
import { PartitionRecords } from './partition-records.js';

describe('PartitionRecords', () => {
  it('names to each partition its parts of the claims that ended, until it was told', () => {
    const records = new PartitionRecords(3);
    records.noteClaimed('w', '0:1', 0, '0:1');
    records.noteClaimed('w', '0:1', 2, '0:1');
    records.noteClaimed('w', '0:1', 2, '1000:1');
    records.noteClaimed('w', '1:1', 2, '1:1');
    expect(records.endedAt(2)).toEqual([]);

    records.noteEnded('w', ['0:1']);
    expect([0, 1, 2].map((partition) => records.endedAt(partition))).toEqual([
      ['0:1'],
      [],
      ['0:1', '1000:1'],
    ]);
    records.noteTold(2, ['0:1', '1000:1']);
    expect(records.endedAt(2)).toEqual([]);
    expect(records.endedAt(0)).toEqual(['0:1']);
  });

  it('keeps workers apart, and does not mind being told twice', () => {
    const records = new PartitionRecords(1);
    records.noteClaimed('w', '0:1', 0, '0:1');
    records.noteEnded('other', ['0:1']);
    expect(records.endedAt(0)).toEqual([]);
    records.noteEnded('w', ['0:1']);
    records.noteEnded('w', ['0:1']);
    expect(records.endedAt(0)).toEqual(['0:1']);
  });
});
