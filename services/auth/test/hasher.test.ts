import { createPasswordHasher } from '../src/password/hasher.ts';

describe('The hasher of passwords', () => {
  test('finds the right password and no other; without a hash nothing is right', async () => {
    const hasher = createPasswordHasher();
    const hash = await hasher.hash('a quiet lake');
    expect(await hasher.verify(hash, 'a quiet lake')).toBe(true);
    expect(await hasher.verify(hash, 'a quiet lakE')).toBe(false);
    expect(await hasher.verify(undefined, 'a quiet lake')).toBe(false);
    expect(await hasher.hash('a quiet lake')).not.toBe(hash);
  });

  test('a hundred wait, further ones are refused at once, and all who waited get their answer', async () => {
    const hasher = createPasswordHasher();
    const hash = await hasher.hash('a quiet lake');
    const all = await Promise.allSettled(Array.from({ length: 150 }, () => hasher.verify(hash, 'a quiet lake')));
    const refused = all.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(48);
    for (const one of refused) {
      expect(one).toMatchObject({ reason: { code: 'service_unavailable', retryAfterSeconds: 1 } });
    }
    expect(await hasher.verify(hash, 'a quiet lake')).toBe(true);
  });

  test('one that fails gives its turn on', async () => {
    const hasher = createPasswordHasher();
    const all = await Promise.allSettled(Array.from({ length: 6 }, () => hasher.verify('no hash', 'x')));
    expect(all.map(({ status }) => status)).toEqual(Array(6).fill('rejected'));
    expect(await hasher.verify(await hasher.hash('x'), 'x')).toBe(true);
  });
});
