import { createPasswordHasher } from '../../src/password/hasher.ts';
import { cheapCost } from '../support.ts';

describe('The password hasher', () => {
  test('accepts only the correct password, and none without a hash', async () => {
    const hasher = createPasswordHasher();
    const hash = await hasher.hash('a quiet lake', '');
    expect(await hasher.verify(hash, 'a quiet lake', '')).toBe(true);
    expect(await hasher.verify(hash, 'a quiet lakE', '')).toBe(false);
    expect(await hasher.verify(undefined, 'a quiet lake', '')).toBe(false);
    expect(await hasher.hash('a quiet lake', '')).not.toBe(hash);
  });

  test.each([
    [
      'correct horse battery staple',
      '$argon2id$v=19$m=32768,t=3,p=1$11XDIm02QKLNbRh+ZUHpaQ$KHvSJL/mfjwujvww14VaFvt7LbyHfqVp4yWQYtmMBKI',
    ],
    [
      // Typed with combining diaereses and a ligature. The hash was computed from the normalized form.
      'pa\u0308sswo\u0308rd \ufb01ne',
      '$argon2id$v=19$m=32768,t=3,p=1$Di7EMl1w3wEoDFLUSzJ0Fw$s1E9PzY73hCsHiN2wuy3n4d8ZcxH1bsGyQUdwRAk0MM',
    ],
  ])('verifies %j with a hash that @node-rs/argon2 2.2 produced', async (password, hash) => {
    const hasher = createPasswordHasher();
    expect(await hasher.verify(hash, password, '')).toBe(true);
    expect(await hasher.verify(hash, `${password} `, '')).toBe(false);
    expect(hasher.isOutdated(hash)).toBe(false);
  });

  test('verifies a hash with other cost parameters and reports it as outdated', async () => {
    const hasher = createPasswordHasher();
    const hash = '$argon2id$v=19$m=32768,t=3,p=2$nxEnUpZ8WrHKnT/JQUIPog$ye8GxD4LTzlDYciVTgskUpxJ/e8TQ8Rap9vs0jBz5MY';
    expect(await hasher.verify(hash, 'x', '')).toBe(true);
    expect(hasher.isOutdated(hash)).toBe(true);
  });

  test.each([
    [
      'another algorithm',
      '$argon2i$v=19$m=32768,t=3,p=1$0NwCl8yVxEYTgNIeTRJmGQ$UTWYUY2TPErpwFBSu/a5ctslzxJh27sHBRtbyeee3h0',
    ],
    [
      'another version',
      '$argon2id$v=16$m=32768,t=3,p=1$0NwCl8yVxEYTgNIeTRJmGQ$UTWYUY2TPErpwFBSu/a5ctslzxJh27sHBRtbyeee3h0',
    ],
    ['no tag', '$argon2id$v=19$m=32768,t=3,p=1$0NwCl8yVxEYTgNIeTRJmGQ$'],
    ['a salt of less than 8 bytes', '$argon2id$v=19$m=32768,t=3,p=1$AAAA$UTWYUY2TPErpwFBSu/a5ctslzxJh27sHBRtbyeee3h0'],
    [
      'memory of less than 8 KiB',
      '$argon2id$v=19$m=7,t=3,p=1$0NwCl8yVxEYTgNIeTRJmGQ$UTWYUY2TPErpwFBSu/a5ctslzxJh27sHBRtbyeee3h0',
    ],
  ])('a stored hash with %s throws', async (_, hash) => {
    await expect(createPasswordHasher().verify(hash, 'x', '')).rejects.toThrow();
  });

  test('runs outside the event loop', async () => {
    const hasher = createPasswordHasher();
    const order: string[] = [];
    const done = hasher.hash('a quiet lake', '').then(() => order.push('hash'));
    await new Promise((resolve) => setImmediate(resolve));
    order.push('turn of the event loop');
    await done;
    expect(order).toEqual(['turn of the event loop', 'hash']);
  });

  test('queues a hundred tasks of a network and rejects further ones immediately; all queued tasks complete', async () => {
    const hasher = createPasswordHasher(cheapCost);
    const hash = await hasher.hash('a quiet lake', '');
    const all = await Promise.allSettled(Array.from({ length: 150 }, () => hasher.verify(hash, 'a quiet lake', '')));
    const refused = all.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(48);
    for (const one of refused) {
      expect(one).toMatchObject({ reason: { code: 'service_unavailable', retryAfterSeconds: 1 } });
    }
    expect(await hasher.verify(hash, 'a quiet lake', '')).toBe(true);
  });

  test('a network with a full queue does not keep out other networks', async () => {
    const hasher = createPasswordHasher(cheapCost);
    const hash = await hasher.hash('a quiet lake', '');
    let ended = 0;
    const busy = Array.from({ length: 150 }, () =>
      hasher.verify(hash, 'a quiet lake', '192.0.2.7').then(
        () => {
          ended += 1;
        },
        () => {},
      ),
    );
    expect(await hasher.verify(hash, 'a quiet lake', '198.51.100.7')).toBe(true);
    // The busy network has the turns in between only.
    expect(ended).toBeLessThan(10);
    await Promise.all(busy);
    expect(ended).toBe(102);
  });

  test('a failed task releases its slot', async () => {
    const hasher = createPasswordHasher(cheapCost);
    const all = await Promise.allSettled(Array.from({ length: 6 }, () => hasher.verify('no hash', 'x', '')));
    expect(all.map(({ status }) => status)).toEqual(Array(6).fill('rejected'));
    expect(await hasher.verify(await hasher.hash('x', ''), 'x', '')).toBe(true);
  });
});
