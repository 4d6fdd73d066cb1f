import { createRoomWatch } from '../src/index.ts';

describe('the watch for a full disk', () => {
  const full = Object.assign(new Error('could not extend file'), { code: '53100' });

  test('tells of one for five seconds, or until something was written', () => {
    let nowMs = 0;
    const watch = createRoomWatch(() => nowMs);
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

  test('is not moved by other failures', () => {
    const watch = createRoomWatch();
    watch.failed(Object.assign(new Error('duplicate key'), { code: '23505' }));
    watch.failed(undefined);
    watch.check();
  });
});
