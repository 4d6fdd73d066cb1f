import { FairShare } from '@rms/async';

test('a tenant takes its own limit, and all tenants together take the total', () => {
  const share = new FairShare({ total: 3, perTenant: 2 });
  expect(['a', 'a', 'a', 'b', 'c'].map((tenant) => share.take(tenant))).toEqual([true, true, false, true, false]);
  expect([share.used, share.of('a'), share.of('b'), share.of('c')]).toEqual([3, 2, 1, 0]);
  share.release('a');
  expect([share.take('c'), share.take('a'), share.used]).toEqual([true, false, 3]);
  share.clear();
  expect([share.used, share.of('c'), share.take('a')]).toEqual([0, 0, true]);
});

test('a tenant that has given everything back is forgotten', () => {
  const share = new FairShare({ perTenant: 1 });
  for (let round = 0; round < 3; round += 1) {
    expect(share.take('a')).toBe(true);
    expect(share.take('a')).toBe(false);
    share.release('a');
  }
  expect([share.used, share.of('a')]).toEqual([0, 0]);
});
