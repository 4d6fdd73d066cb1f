import { slotOf } from '../src/key-slot.ts';

test.each([
  ['123456789', 12_739],
  ['foo', 12_182],
  ['{user1000}.following', slotOf('user1000')],
  ['foo{}{bar}', 8_363],
  ['foo{{bar}}zap', slotOf('{bar')],
  ['foo{bar}{zap}', slotOf('bar')],
])('the slot of %s follows the Redis Cluster specification', (key, slot) => {
  expect(slotOf(key)).toBe(slot);
});

test('all keys of a workspace are in one slot', () => {
  const keys = ['mark:key_1', 'rate:key_1', 'rate:live', 'quota:live:202601'].map((name) => `rms:{ws_1}:${name}`);
  expect(new Set(keys.map(slotOf))).toEqual(new Set([slotOf('ws_1')]));
});
