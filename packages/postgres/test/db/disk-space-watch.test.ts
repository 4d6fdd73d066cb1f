import { createDiskSpaceWatch } from '../../src/db/index.ts';

describe('createRoomWatch', () => {
  const full = Object.assign(new Error('could not extend file'), { code: '53100' });

  test('reports a full disk for five seconds, or until the next write', () => {
    let nowMs = 0;
    const watch = createDiskSpaceWatch(() => nowMs);
    watch.check();
    watch.failed(full);
    expect(watch.check).toThrow(full);
    watch.wrote();
    watch.check();
    watch.failed(full);
    nowMs = 4_999;
    expect(watch.check).toThrow(full);
    nowMs = 5_000;
    watch.check();
  });

  test('ignores other failures', () => {
    const watch = createDiskSpaceWatch();
    watch.failed(Object.assign(new Error('duplicate key'), { code: '23505' }));
    watch.failed(undefined);
    watch.check();
  });
});
